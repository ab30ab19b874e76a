/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * masked_scatter (ATen/native/cuda/IndexKernel.cpp): a copy of the tensor, on a GPU the running sum
 * of the mask and a copy of the mask as large. Backward fills the selected part of the one gradient
 * and selects it for the other.
 */
#include "torch/ops/ops.h"

enum { TARGET, SOURCE }; /* inputs */

static ms_dtype dtype_of(ms_tape *tape, ms_tensor a)
{
    return (ms_dtype)ms_info(tape, a)->dtype;
}

static ms_tensor bytes_of_cub(ms_tape *tape, uint64_t bytes)
{
    return ms_empty_bytes(tape, bytes, MS_DTYPE_U8);
}

/* The copy of a mask that is expanded to as many elements; 0: it has them. */
static ms_tensor expanded(ms_tape *tape, ms_tensor mask, const ms_shape *whole)
{
    bool is_whole = ms_elements(&ms_info(tape, mask)->shape) == ms_elements(whole);
    return is_whole ? 0 : ms_empty(tape, *whole, MS_DTYPE_BOOL);
}

/* nonzero() of the expanded mask: an index for each dimension, [rank, count] */
static ms_tensor places(ms_tape *tape, ms_tensor given, const ms_shape *whole, uint64_t count)
{
    ms_symbols *s = &tape->trace->symbols;
    uint64_t items = ms_elements(whole);
    ms_tensor mask = expanded(tape, given, whole);
    ms_tensor found = ms_empty_bytes(tape, 4, MS_DTYPE_I32);
    ms_consume(tape, bytes_of_cub(tape, ms_cub_count_bytes(tape, items)));
    ms_tensor out = ms_empty(tape, MS_SHAPE(ms_dim_number(s, whole->rank), ms_dim_number(s, count)),
                             MS_DTYPE_I64);
    ms_consume(tape, bytes_of_cub(tape, ms_cub_select_bytes(tape, items)));
    ms_consume(tape, found);
    ms_consume(tape, mask);
    return out;
}

/* grad.masked_select(mask), in the shape of the source */
static ms_tensor selected(ms_tape *tape, ms_tensor mask, const ms_shape *whole,
                          const ms_shape *source, ms_dtype dtype)
{
    if (tape->on_cpu || ms_idle(tape))
        return ms_empty(tape, *source, dtype);
    ms_tensor indices = places(tape, mask, whole, ms_elements(source));
    ms_tensor out = ms_empty(tape, *source, dtype);
    ms_consume(tape, indices);
    return out;
}

static void scatter_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    ms_dtype dtype = dtype_of(tape, grads[0]);
    const ms_shape whole = ms_input_meta(tape, node, TARGET)->shape;
    if (ms_node_wants(node, TARGET))
        out[TARGET] = ms_empty(tape, whole, dtype);
    if (ms_node_wants(node, SOURCE))
        out[SOURCE] = selected(tape, node->saved[0], &whole,
                               &ms_input_meta(tape, node, SOURCE)->shape, dtype);
}

static const ms_op scatter_op = {"masked_scatter", "MaskedScatterBackward0", scatter_backward};

ms_tensor ms_masked_scatter(ms_tape *tape, ms_tensor a, ms_tensor mask, ms_tensor source)
{
    if (ms_idle(tape) || !a || !mask || !source)
        return 0;
    ms_op_mark mark = ms_op_begin(tape, &scatter_op);
    const ms_tensor inputs[] = {a, source};
    uint32_t node = ms_record(tape, &scatter_op, 2, inputs);
    ms_save(tape, node, mask);
    const ms_shape shape = ms_info(tape, a)->shape;
    ms_tensor out = ms_empty(tape, shape, dtype_of(tape, a));
    if (!tape->on_cpu) {
        ms_tensor sums = ms_empty(tape, shape, MS_DTYPE_I64);
        ms_tensor copy = expanded(tape, mask, &shape);
        ms_consume(tape, bytes_of_cub(tape, ms_cub_scan_bytes(ms_elements(&shape))));
        ms_consume(tape, copy);
        ms_consume(tape, sums);
    }
    return ms_op_finish(tape, mark, node, 2, inputs, out);
}
