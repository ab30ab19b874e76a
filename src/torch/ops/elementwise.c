/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Binary elementwise operators and casts.
 */
#include <string.h>

#include "torch/autograd/engine.h"
#include "torch/ops/ops.h"

/* ---- cast ---- */

/* Casts: explicit ones, and those of autocast. */

static void to_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    out[0] = ms_empty_like(tape, grads[0], (ms_dtype)ms_input_meta(tape, node, 0)->dtype);
}

static const ms_op to_op = {"to", "ToCopyBackward0", to_backward};

ms_tensor ms_to(ms_tape *tape, ms_tensor a, ms_dtype dtype)
{
    if (ms_idle(tape) || ms_info(tape, a)->dtype == dtype)
        return a;
    ms_op_mark mark = ms_op_begin(tape, &to_op);
    uint32_t node = ms_record(tape, &to_op, 1, &a);
    return ms_op_finish(tape, mark, node, 1, &a, ms_empty_like(tape, a, dtype));
}

ms_tensor ms_to_contiguous(ms_tape *tape, ms_tensor a, ms_dtype dtype)
{
    if (ms_idle(tape) || ms_info(tape, a)->dtype == dtype)
        return a;
    ms_op_mark mark = ms_op_begin(tape, &to_op);
    uint32_t node = ms_record(tape, &to_op, 1, &a);
    ms_tensor out = ms_empty(tape, ms_info(tape, a)->shape, dtype);
    return ms_op_finish(tape, mark, node, 1, &a, out);
}

/* ---- autocast ---- */

static bool is_lowered(ms_tape *tape, ms_tensor a)
{
    return tape->has_autocast && a && !ms_idle(tape) && ms_info(tape, a)->dtype == MS_DTYPE_F32 &&
           tape->autocast_dtype != MS_DTYPE_F32;
}

ms_tensor ms_autocast_lower_view(ms_tape *tape, ms_tensor a)
{
    return is_lowered(tape, a) ? ms_to(tape, a, (ms_dtype)tape->autocast_dtype) : a;
}

ms_tensor ms_autocast_lower(ms_tape *tape, ms_tensor a)
{
    if (!is_lowered(tape, a))
        return a;
    uint32_t leaf = ms_info(tape, a)->leaf;
    if (leaf == MS_NONE || !ms_info(tape, a)->requires_grad ||
        tape->parameters.items[leaf].is_captured || tape->parameters.items[leaf].is_view)
        return ms_autocast_lower_view(tape, a);
    if (tape->parameters.items[leaf].cast)
        return tape->parameters.items[leaf].cast;
    ms_tensor cast = ms_to(tape, a, (ms_dtype)tape->autocast_dtype);
    ms_retain(tape, cast);
    tape->parameters.items[leaf].cast = cast;
    if (!ms_vec_push(&tape->casts, (ms_cast){leaf, cast}))
        ms_tape_fail(tape, MS_ERR_NOMEM);
    return cast;
}

ms_tensor ms_autocast_fp32(ms_tape *tape, ms_tensor a)
{
    if (!tape->has_autocast || !a || ms_idle(tape) ||
        !ms_dtype_info_of((ms_dtype)ms_info(tape, a)->dtype)->floating)
        return a;
    return ms_to(tape, a, MS_DTYPE_F32);
}

/* ---- dropout ---- */

static void dropout_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    (void)node;
    out[0] = ms_empty_like(tape, grads[0], (ms_dtype)ms_info(tape, grads[0])->dtype);
}

static const ms_op dropout_op = {"native_dropout", "NativeDropoutBackward0", dropout_backward};
static const ms_op cpu_dropout_op = {"dropout", "MulBackward0", dropout_backward};

/* CUDA: one kernel that makes the mask, a byte an element, and the output. CPU: the input times
 * noise of its own dtype. */
ms_tensor ms_dropout(ms_tape *tape, ms_tensor x, double p)
{
    if (p <= 0 || tape->is_evaluating || ms_idle(tape) || !x)
        return x;
    const ms_op *op = tape->on_cpu ? &cpu_dropout_op : &dropout_op;
    ms_op_mark mark = ms_op_begin(tape, op);
    ms_op_draws(tape, mark);
    uint32_t node = ms_record(tape, op, 1, &x);
    ms_dtype dtype = (ms_dtype)ms_info(tape, x)->dtype;
    ms_tensor mask = ms_empty_like(tape, x, tape->on_cpu ? dtype : MS_DTYPE_BOOL);
    ms_tensor out = ms_empty_like(tape, x, dtype);
    ms_save(tape, node, mask);
    ms_op_operand(tape, mark, mask, true);
    ms_consume(tape, mask);
    return ms_op_finish(tape, mark, node, 1, &x, out);
}

/* ---- elementwise ---- */

ms_dtype ms_promote(ms_dtype a, ms_dtype b)
{
    if (a == b)
        return a;
    bool a_float = ms_dtype_info_of(a)->floating, b_float = ms_dtype_info_of(b)->floating;
    if (a_float != b_float)
        return a_float ? a : b;
    if (a_float)
        return ms_dtype_bytes(a) == ms_dtype_bytes(b)  ? MS_DTYPE_F32
               : ms_dtype_bytes(a) > ms_dtype_bytes(b) ? a
                                                       : b;
    return ms_dtype_bytes(a) >= ms_dtype_bytes(b) ? a : b;
}

/* The type of a result: a floating scalar tensor does not widen one of more dimensions. */
static ms_dtype result_type(ms_tape *tape, ms_tensor a, ms_tensor b)
{
    const ms_tensor_info *x = ms_info(tape, a), *y = ms_info(tape, b);
    bool both_float = ms_dtype_info_of((ms_dtype)x->dtype)->floating &&
                      ms_dtype_info_of((ms_dtype)y->dtype)->floating;
    if (both_float && (x->shape.rank == 0) != (y->shape.rank == 0))
        return (ms_dtype)(x->shape.rank == 0 ? y->dtype : x->dtype);
    return ms_promote((ms_dtype)x->dtype, (ms_dtype)y->dtype);
}

/* ---- TensorIterator's output layout ---- */

typedef struct layout {
    ms_shape shape;
    uint32_t count;
    const ms_tensor_info *inputs[4];
} layout;

static void broadcast_shape(layout *l)
{
    for (uint32_t i = 0; i < l->count; i++)
        if (l->inputs[i]->shape.rank > l->shape.rank)
            l->shape.rank = l->inputs[i]->shape.rank;
    for (uint32_t d = 0; d < l->shape.rank; d++) {
        l->shape.dims[d] = (ms_dim){.value = 1};
        for (uint32_t i = 0; i < l->count; i++) {
            const ms_shape *s = &l->inputs[i]->shape;
            uint32_t lead = l->shape.rank - s->rank;
            if (d >= lead && (s->dims[d - lead].value != 1 || l->shape.dims[d].symbol == 0))
                l->shape.dims[d] = s->dims[d - lead].value != 1 || l->shape.dims[d].value == 1
                                       ? s->dims[d - lead]
                                       : l->shape.dims[d];
        }
    }
}

/* Stride in bytes of input i along output dimension d; 0 where it is broadcast. */
static uint64_t stride_of(const layout *l, uint32_t i, uint32_t d)
{
    const ms_tensor_info *info = l->inputs[i];
    uint32_t lead = l->shape.rank - info->shape.rank;
    if (d < lead)
        return 0;
    if (info->shape.dims[d - lead].value == 1 && l->shape.dims[d].value != 1)
        return 0;
    return info->strides[d - lead] * ms_dtype_bytes((ms_dtype)info->dtype);
}

/* 1: dimension a should come after b; -1: before; 0: the inputs do not decide. */
static int compare_dims(const layout *l, uint32_t a, uint32_t b)
{
    for (uint32_t i = 0; i < l->count; i++) {
        uint64_t sa = stride_of(l, i, a), sb = stride_of(l, i, b);
        if (sa == 0 || sb == 0)
            continue;
        if (sa != sb)
            return sa < sb ? -1 : 1;
        if (l->shape.dims[a].value > l->shape.dims[b].value)
            return 1;
    }
    return 0;
}

static void output_strides(const layout *l, uint64_t *strides)
{
    uint32_t order[MS_MAX_RANK], rank = l->shape.rank;
    for (uint32_t i = 0; i < rank; i++)
        order[i] = rank - 1 - i;
    for (uint32_t i = 1; i < rank; i++) {
        for (uint32_t at = i, below = i; below-- > 0;) {
            int order_says = compare_dims(l, order[below], order[at]);
            if (order_says < 0)
                break;
            if (order_says > 0) {
                uint32_t swap = order[below];
                order[below] = order[at];
                order[at] = swap;
                at = below;
            }
        }
    }
    uint64_t stride = 1;
    for (uint32_t i = 0; i < rank; i++) {
        strides[order[i]] = stride;
        stride *= l->shape.dims[order[i]].value;
    }
}

/* Whether the dimensions are the last of another shape. */
static bool are_last_dims(const ms_shape *last, const ms_shape *whole)
{
    const ms_dim *dims = whole->dims + (whole->rank - last->rank);
    bool are_same = true;
    for (uint32_t i = 0; i < last->rank && are_same; i++)
        are_same = last->dims[i].value == dims[i].value && last->dims[i].symbol == dims[i].symbol;
    return are_same;
}

/* An input like the result, where all are contiguous and of its last dimensions; else NULL. */
static const ms_tensor_info *whole_of(const layout *l)
{
    const ms_tensor_info *whole = l->inputs[0];
    for (uint32_t i = 1; i < l->count; i++)
        if (l->inputs[i]->shape.rank > whole->shape.rank)
            whole = l->inputs[i];
    for (uint32_t i = 0; i < l->count; i++)
        if (!are_last_dims(&l->inputs[i]->shape, &whole->shape) || !ms_is_contiguous(l->inputs[i]))
            return NULL;
    return whole;
}

ms_tensor ms_elementwise_out(ms_tape *tape, uint32_t count, const ms_tensor *inputs, ms_dtype dtype)
{
    layout l;
    l.count = l.shape.rank = 0;
    for (uint32_t i = 0; i < count; i++)
        if (inputs[i])
            l.inputs[l.count++] = ms_info(tape, inputs[i]);
    if (ms_idle(tape) || l.count == 0)
        return 0;
    if (l.count == 1 && ms_is_dense(l.inputs[0]))
        return ms_empty_like(tape, inputs[0], dtype);
    const ms_tensor_info *whole = whole_of(&l);
    if (whole)
        return ms_empty(tape, whole->shape, dtype);
    uint64_t strides[MS_MAX_RANK];
    broadcast_shape(&l);
    output_strides(&l, strides);
    return ms_empty_strided(tape, l.shape, strides, dtype);
}

/* ---- temporaries of the CPU kernels ---- */

/* A Python number is a tensor of 8 bytes on the CPU; a kernel of another dtype copies it. */
typedef struct cpu_scalar {
    ms_tensor wrapped, copy;
} cpu_scalar;

static cpu_scalar cpu_scalar_begin(ms_tape *tape, ms_dtype dtype)
{
    cpu_scalar scalar = {0};
    if (!tape->on_cpu)
        return scalar;
    bool floating = ms_dtype_info_of(dtype)->floating;
    scalar.wrapped = ms_empty_bytes(tape, 8, floating ? MS_DTYPE_F64 : MS_DTYPE_I64);
    if (floating)
        scalar.copy = ms_empty_bytes(tape, ms_dtype_bytes(dtype), dtype);
    return scalar;
}

static void cpu_scalar_end(ms_tape *tape, cpu_scalar scalar)
{
    ms_consume(tape, scalar.copy);
    ms_consume(tape, scalar.wrapped);
}

/* The CPU kernels compute in one dtype: inputs of another are copied for the call. */
static ms_tensor cpu_common(ms_tape *tape, ms_tensor a, ms_dtype dtype)
{
    if (!tape->on_cpu || !a || ms_info(tape, a)->dtype == dtype)
        return 0;
    return ms_empty_like(tape, a, dtype);
}

/* ---- forward of the plain operators: one output over all inputs ---- */

static ms_tensor binary_out(ms_tape *tape, ms_tensor a, ms_tensor b)
{
    if (ms_idle(tape))
        return 0;
    ms_dtype dtype = result_type(tape, a, b);
    ms_tensor a_copy = cpu_common(tape, a, dtype), b_copy = cpu_common(tape, b, dtype);
    ms_tensor out = ms_elementwise_out(tape, 2, (ms_tensor[]){a, b}, dtype);
    ms_consume(tape, a_copy);
    ms_consume(tape, b_copy);
    return out;
}

/* ---- add ---- */

static void add_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    (void)tape;
    for (uint32_t i = 0; i < node->edge_count; i++)
        if (ms_node_wants(node, i))
            out[i] = grads[0];
}

static const ms_op add_op = {"add", "AddBackward0", add_backward};
static const ms_op add_in_place_op = {"add_", "AddBackward0", add_backward};

ms_tensor ms_add(ms_tape *tape, ms_tensor a, ms_tensor b)
{
    ms_op_mark mark = ms_op_begin(tape, &add_op);
    ms_tensor inputs[] = {a, b};
    uint32_t node = ms_record(tape, &add_op, 2, inputs);
    return ms_op_finish(tape, mark, node, 2, inputs, binary_out(tape, a, b));
}

/* ---- sub: what is taken away gets the negated gradient, and first ---- */

static void sub_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    if (ms_node_wants(node, 1))
        out[1] = ms_empty_like(tape, grads[0], (ms_dtype)ms_info(tape, grads[0])->dtype);
    if (ms_node_wants(node, 0))
        out[0] = grads[0];
}

static const ms_op sub_op = {"sub", "SubBackward0", sub_backward};

ms_tensor ms_sub(ms_tape *tape, ms_tensor a, ms_tensor b)
{
    ms_op_mark mark = ms_op_begin(tape, &sub_op);
    ms_tensor inputs[] = {a, b};
    uint32_t node = ms_record(tape, &sub_op, 2, inputs);
    return ms_op_finish(tape, mark, node, 2, inputs, binary_out(tape, a, b));
}

ms_tensor ms_same_storage(ms_tape *tape, ms_tensor a)
{
    if (ms_idle(tape) || !a)
        return 0;
    const ms_tensor_info info = *ms_info(tape, a);
    ms_tensor same = ms_alias(tape, a, info.shape, info.strides);
    if (same)
        ms_info(tape, same)->is_view = info.is_view;
    ms_change_in_place(tape, a);
    return same;
}

ms_tensor ms_add_(ms_tape *tape, ms_tensor a, ms_tensor b)
{
    ms_op_mark mark = ms_op_begin(tape, &add_in_place_op);
    ms_tensor inputs[] = {a, b};
    uint32_t node = ms_record(tape, &add_in_place_op, 2, inputs);
    return ms_op_finish(tape, mark, node, 2, inputs, ms_same_storage(tape, a));
}

/* ---- mul: the gradient of `other` comes first, as PyTorch computes them by name ---- */

enum { MUL_HAS_OTHER, MUL_HAS_SELF };

static void mul_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    uint32_t slot = 0;
    ms_tensor other = node->numbers[MUL_HAS_OTHER] ? node->saved[slot++] : 0;
    ms_tensor self = node->numbers[MUL_HAS_SELF] ? node->saved[slot++] : 0;
    if (self)
        out[1] = ms_elementwise_out(tape, 2, (ms_tensor[]){grads[0], self},
                                    result_type(tape, grads[0], self));
    if (other)
        out[0] = ms_elementwise_out(tape, 2, (ms_tensor[]){grads[0], other},
                                    result_type(tape, grads[0], other));
}

static const ms_op mul_op = {"mul", "MulBackward0", mul_backward};

ms_tensor ms_mul(ms_tape *tape, ms_tensor a, ms_tensor b)
{
    ms_op_mark mark = ms_op_begin(tape, &mul_op);
    ms_tensor inputs[] = {a, b};
    uint32_t node = ms_record(tape, &mul_op, 2, inputs);
    bool save_other = ms_needs_grad(tape, a), save_self = ms_needs_grad(tape, b);
    ms_node_numbers(tape, node, 2, (uint64_t[]){save_other, save_self});
    if (save_other)
        ms_save(tape, node, b);
    if (save_self)
        ms_save(tape, node, a);
    return ms_op_finish(tape, mark, node, 2, inputs, binary_out(tape, a, b));
}

static const ms_op mul_tensor_in_place_op = {"mul_", "MulBackward0", mul_backward};

ms_tensor ms_mul_(ms_tape *tape, ms_tensor a, ms_tensor b)
{
    ms_op_mark mark = ms_op_begin(tape, &mul_tensor_in_place_op);
    ms_tensor inputs[] = {a, b};
    uint32_t node = ms_record(tape, &mul_tensor_in_place_op, 2, inputs);
    ms_node_numbers(tape, node, 2, (uint64_t[]){true, false});
    ms_save(tape, node, b);
    return ms_op_finish(tape, mark, node, 2, inputs, ms_same_storage(tape, a));
}

/* ---- with a Python number ---- */

static void mul_scalar_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads,
                                ms_tensor *out)
{
    (void)node;
    ms_dtype dtype = (ms_dtype)ms_info(tape, grads[0])->dtype;
    ms_tensor copy = tape->on_cpu ? ms_empty_bytes(tape, ms_dtype_bytes(dtype), dtype) : 0;
    out[0] = ms_elementwise_out(tape, 1, grads, dtype);
    ms_consume(tape, copy);
}

static const ms_op add_scalar_op = {"add", "AddBackward0", add_backward};
static const ms_op mul_in_place_op = {"mul_", "MulBackward0", mul_scalar_backward};
static const ms_op div_in_place_op = {"div_", "DivBackward0", mul_scalar_backward};
static const ms_op mul_scalar_op = {"mul", "MulBackward0", mul_scalar_backward};
static const ms_op div_scalar_op = {"div", "DivBackward0", mul_scalar_backward};

static bool keeps_number(const ms_op *op)
{
    return op == &mul_scalar_op || op == &div_scalar_op || op == &mul_in_place_op ||
           op == &div_in_place_op;
}

static ms_tensor scalar_op(ms_tape *tape, const ms_op *op, ms_tensor a, ms_dtype result,
                           bool in_place)
{
    if (ms_idle(tape)) {
        ms_consume(tape, a);
        return 0;
    }
    ms_op_mark mark = ms_op_begin(tape, op);
    uint32_t node = op->backward ? ms_record(tape, op, 1, &a) : MS_NONE;
    cpu_scalar scalar = cpu_scalar_begin(tape, (ms_dtype)ms_info(tape, a)->dtype);
    if (keeps_number(op))
        ms_save_number(tape, node, scalar.wrapped);
    ms_tensor out = in_place ? ms_same_storage(tape, a) : ms_elementwise_out(tape, 1, &a, result);
    cpu_scalar_end(tape, scalar);
    return ms_op_finish(tape, mark, node, 1, &a, out);
}

ms_tensor ms_add_scalar(ms_tape *tape, ms_tensor a)
{
    return scalar_op(tape, &add_scalar_op, a, (ms_dtype)ms_info(tape, a)->dtype, false);
}

ms_tensor ms_mul_scalar(ms_tape *tape, ms_tensor a)
{
    return scalar_op(tape, &mul_scalar_op, a, (ms_dtype)ms_info(tape, a)->dtype, false);
}

ms_tensor ms_mul_scalar_(ms_tape *tape, ms_tensor a)
{
    return scalar_op(tape, &mul_in_place_op, a, MS_DTYPE_F32, true);
}

ms_tensor ms_div_scalar(ms_tape *tape, ms_tensor a)
{
    return scalar_op(tape, &div_scalar_op, a, (ms_dtype)ms_info(tape, a)->dtype, false);
}

ms_tensor ms_div_scalar_(ms_tape *tape, ms_tensor a)
{
    return scalar_op(tape, &div_in_place_op, a, MS_DTYPE_F32, true);
}

/* ATen's own multiplication by a scalar: its node keeps no tensor of the number. */
static const ms_op scale_op = {"mul", "MulBackward1", mul_scalar_backward};

ms_tensor ms_scale(ms_tape *tape, ms_tensor a)
{
    return scalar_op(tape, &scale_op, a, (ms_dtype)ms_info(tape, a)->dtype, false);
}

static const ms_op floor_divide_op = {"floor_divide", NULL, NULL};

ms_tensor ms_floor_divide(ms_tape *tape, ms_tensor a)
{
    return scalar_op(tape, &floor_divide_op, a, (ms_dtype)ms_info(tape, a)->dtype, false);
}

static const ms_op compare_op = {"compare", NULL, NULL};

ms_tensor ms_compare(ms_tape *tape, ms_tensor a, ms_tensor b)
{
    if (!b)
        return scalar_op(tape, &compare_op, a, MS_DTYPE_BOOL, false);
    ms_op_mark mark = ms_op_begin(tape, &compare_op);
    ms_tensor inputs[] = {a, b};
    ms_tensor out = ms_elementwise_out(tape, 2, inputs, MS_DTYPE_BOOL);
    return ms_op_finish(tape, mark, MS_NONE, 2, inputs, out);
}
