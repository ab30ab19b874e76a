/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Padding, and repeated elements.
 */
#include "torch/autograd/engine.h"
#include "torch/ops/split.h"
#include "torch/ops/ops.h"

/* ---- padding: a copy; backward copies the part that was there ---- */

static void pad_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    ms_tensor_info info = *ms_info(tape, grads[0]);
    ms_tensor part = ms_alias(tape, grads[0], ms_input_meta(tape, node, 0)->shape, info.strides);
    out[0] = ms_empty_like(tape, part, (ms_dtype)info.dtype);
    ms_consume(tape, part);
}

static const ms_op pad_op = {"constant_pad_nd", "ConstantPadNdBackward0", pad_backward};

ms_tensor ms_pad(ms_tape *tape, ms_tensor a, uint32_t dim, ms_dim length)
{
    if (ms_idle(tape) || !a)
        return 0;
    ms_op_mark mark = ms_op_begin(tape, &pad_op);
    uint32_t node = ms_record(tape, &pad_op, 1, &a);
    ms_shape shape = ms_info(tape, a)->shape;
    ms_dtype dtype = (ms_dtype)ms_info(tape, a)->dtype;
    bool adds = shape.dims[dim].value != length.value;
    bool is_picture = ms_is_channels_last(ms_info(tape, a));
    shape.dims[dim] = length;
    ms_tensor out = !adds        ? ms_empty_like(tape, a, dtype)
                    : is_picture ? ms_channels_last(tape, shape, dtype)
                                 : ms_empty(tape, shape, dtype);
    return ms_op_finish(tape, mark, node, 1, &a, out);
}

/* ---- repeated elements: seen as often, copied, and the two dimensions joined ---- */

ms_tensor ms_repeat_each(ms_tape *tape, ms_tensor a, uint32_t dim, ms_dim times)
{
    if (ms_idle(tape) || !a)
        return 0;
    ms_shape whole = ms_info(tape, a)->shape;
    whole.dims[dim] = ms_dim_mul(&tape->trace->symbols, whole.dims[dim], times);
    ms_tensor seen = ms_unsqueeze(tape, a, dim + 1);
    if (ms_idle(tape))
        return 0;
    ms_shape wide = ms_info(tape, seen)->shape;
    wide.dims[dim + 1] = times;
    return ms_view(tape, ms_clone(tape, ms_expand(tape, seen, wide)), whole);
}

/* ---- a whole tensor repeated along a new first dimension: backward sums over it ---- */

static void repeat_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    const ms_shape shape = ms_input_meta(tape, node, 0)->shape;
    out[0] = ms_sum_to(tape, grads[0], &shape);
    if (out[0])
        ms_info(tape, out[0])->is_view = false;
}

static const ms_op repeat_op = {"repeat", "RepeatBackward0", repeat_backward};

ms_tensor ms_repeat_first(ms_tape *tape, ms_tensor a, ms_dim times)
{
    if (ms_idle(tape) || !a) {
        ms_consume(tape, a);
        return 0;
    }
    ms_op_mark mark = ms_op_begin(tape, &repeat_op);
    uint32_t node = ms_record(tape, &repeat_op, 1, &a);
    ms_shape shape = ms_info(tape, a)->shape;
    for (uint32_t i = shape.rank++; i > 0; i--)
        shape.dims[i] = shape.dims[i - 1];
    shape.dims[0] = times;
    ms_tensor out = ms_empty(tape, shape, (ms_dtype)ms_info(tape, a)->dtype);
    return ms_op_finish(tape, mark, node, 1, &a, out);
}
