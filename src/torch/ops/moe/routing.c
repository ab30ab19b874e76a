/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "torch/ops/moe/routing.h"

#include "torch/ops/moe/experts.h"

static ms_dtype dtype_of(ms_tape *tape, ms_tensor a)
{
    return (ms_dtype)ms_info(tape, a)->dtype;
}

/* ---- division in place: the dividend is copied first, if the divisor's gradient needs it ---- */

enum { DIV_DIVISOR, DIV_DIVIDEND }; /* saved */

/* -grad * ((self / other) / other), then grad / other */
static void div_into_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    ms_tensor other = node->saved[DIV_DIVISOR], self = node->saved[DIV_DIVIDEND];
    ms_dtype dtype = dtype_of(tape, grads[0]);
    ms_tensor quotient = ms_elementwise_out(tape, 2, (ms_tensor[]){self, other}, dtype);
    ms_tensor square = ms_elementwise_out(tape, 2, (ms_tensor[]){quotient, other}, dtype);
    ms_tensor negative = ms_empty_like(tape, grads[0], dtype);
    out[1] = ms_elementwise_out(tape, 2, (ms_tensor[]){negative, square}, dtype);
    ms_consume(tape, negative);
    ms_consume(tape, square);
    ms_consume(tape, quotient);
    out[0] = ms_elementwise_out(tape, 2, (ms_tensor[]){grads[0], other}, dtype);
}

static const ms_op div_into_op = {"div_", "DivBackward0", div_into_backward};

ms_tensor ms_div_into(ms_tape *tape, ms_tensor a, ms_tensor b)
{
    if (ms_idle(tape) || !a || !b)
        return 0;
    ms_op_mark mark = ms_op_begin(tape, &div_into_op);
    ms_tensor inputs[] = {a, b};
    uint32_t node = ms_record(tape, &div_into_op, 2, inputs);
    ms_tensor dividend = node != MS_NONE ? ms_empty_like(tape, a, dtype_of(tape, a)) : 0;
    ms_save(tape, node, b);
    ms_save(tape, node, dividend);
    ms_consume(tape, dividend);
    ms_change_in_place(tape, a);
    const ms_tensor_info info = *ms_info(tape, a);
    return ms_op_finish(tape, mark, node, 2, inputs, ms_alias(tape, a, info.shape, info.strides));
}

static const ms_op div_by_op = {"div", "DivBackward0", div_into_backward};

ms_tensor ms_div_by(ms_tape *tape, ms_tensor a, ms_tensor b)
{
    if (ms_idle(tape) || !a || !b)
        return 0;
    ms_op_mark mark = ms_op_begin(tape, &div_by_op);
    const ms_tensor inputs[] = {a, b};
    uint32_t node = ms_record(tape, &div_by_op, 2, inputs);
    ms_save(tape, node, b);
    ms_save(tape, node, a);
    ms_tensor out = ms_elementwise_out(tape, 2, inputs, dtype_of(tape, a));
    return ms_op_finish(tape, mark, node, 2, inputs, out);
}

/* ---- sum in place ---- */

static void add_into_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    (void)tape;
    for (uint32_t i = 0; i < node->edge_count; i++)
        if (ms_node_wants(node, i))
            out[i] = grads[0];
}

static const ms_op add_into_op = {"add_", "AddBackward0", add_into_backward};

ms_tensor ms_add_into(ms_tape *tape, ms_tensor a, ms_tensor b)
{
    if (ms_idle(tape) || !a || !b)
        return 0;
    ms_op_mark mark = ms_op_begin(tape, &add_into_op);
    ms_tensor inputs[] = {a, b};
    uint32_t node = ms_record(tape, &add_into_op, 2, inputs);
    ms_change_in_place(tape, a);
    const ms_tensor_info info = *ms_info(tape, a);
    return ms_op_finish(tape, mark, node, 2, inputs, ms_alias(tape, a, info.shape, info.strides));
}

/* ---- sort: small ones in place, larger ones through CUB ---- */

static const ms_op sort_op = {"sort", NULL, NULL};

void ms_sort(ms_tape *tape, ms_tensor a, ms_tensor out[2])
{
    enum { LARGEST_IN_PLACE = 4096 };
    out[0] = out[1] = 0;
    if (ms_idle(tape) || !a)
        return;
    ms_op_mark mark = ms_op_begin(tape, &sort_op);
    ms_shape shape = ms_info(tape, a)->shape;
    uint64_t items = ms_elements(&shape);
    ms_tensor values = ms_empty(tape, shape, dtype_of(tape, a));
    ms_tensor indices = ms_empty(tape, shape, MS_DTYPE_I64);
    ms_tensor range = ms_empty(tape, shape, MS_DTYPE_I64);
    if (!tape->on_cpu && items > LARGEST_IN_PLACE)
        ms_transient(tape,
                     dtype_of(tape, a) == MS_DTYPE_F32 ? ms_cub_sort32_bytes(tape, items)
                                                       : ms_cub_sort_bytes(tape, items, 64),
                     MS_DTYPE_U8);
    ms_consume(tape, range);
    ms_retain(tape, indices);
    ms_op_operand(tape, mark, indices, true);
    out[0] = ms_op_finish(tape, mark, MS_NONE, 1, &a, values);
    out[1] = ms_unown(tape, indices);
}

/* ---- counts ---- */

enum { CPU_THREADS = 2 };

static const ms_op histogram_op = {"histc", NULL, NULL};

ms_tensor ms_histogram(ms_tape *tape, ms_tensor a, ms_dim bins)
{
    if (ms_idle(tape) || !a)
        return 0;
    ms_op_mark mark = ms_op_begin(tape, &histogram_op);
    ms_dtype dtype = dtype_of(tape, a);
    uint64_t bytes = bins.value * ms_dtype_bytes(dtype);
    ms_tensor edges = tape->on_cpu ? ms_empty_bytes(tape, bytes + ms_dtype_bytes(dtype), dtype) : 0;
    ms_tensor out = ms_empty(tape, MS_SHAPE(bins), dtype);
    if (tape->on_cpu)
        ms_transient(tape, CPU_THREADS * bytes, dtype);
    ms_consume(tape, edges);
    return ms_op_finish(tape, mark, MS_NONE, 1, &a, out);
}

static const ms_op offsets_op = {"cumsum", NULL, NULL};

ms_tensor ms_offsets(ms_tape *tape, ms_tensor counts)
{
    if (ms_idle(tape) || !counts)
        return 0;
    ms_op_mark mark = ms_op_begin(tape, &offsets_op);
    ms_shape shape = ms_info(tape, counts)->shape;
    ms_tensor out = ms_empty(tape, shape, MS_DTYPE_I32);
    if (tape->on_cpu)
        ms_transient(tape, ms_tensor_bytes(tape, out), MS_DTYPE_I32);
    else
        ms_transient(tape, ms_cub_scan32_bytes(ms_elements(&shape)), MS_DTYPE_U8);
    return ms_op_finish(tape, mark, MS_NONE, 1, &counts, out);
}

static const ms_op inverse_order_op = {"index_put_", NULL, NULL};

ms_tensor ms_inverse_order(ms_tape *tape, ms_tensor order)
{
    if (ms_idle(tape) || !order)
        return 0;
    ms_op_mark mark = ms_op_begin(tape, &inverse_order_op);
    ms_shape shape = ms_info(tape, order)->shape;
    ms_tensor out = ms_empty(tape, shape, MS_DTYPE_I64);
    ms_consume(tape, ms_empty(tape, shape, MS_DTYPE_I64));
    return ms_op_finish(tape, mark, MS_NONE, 1, &order, out);
}
