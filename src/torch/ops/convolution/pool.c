/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * avg_pool2d with windows that do not overlap (ATen/native/cuda/AveragePool2d.cu): backward reads a
 * contiguous gradient.
 */
#include "torch/ops/ops.h"

static void pool_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    out[0] = ms_empty(tape, ms_input_meta(tape, node, 0)->shape,
                      (ms_dtype)ms_info(tape, grads[0])->dtype);
    ms_consume(tape, ms_contiguous_copy(tape, grads[0]));
}

static const ms_op pool_op = {"avg_pool2d", "AvgPool2DBackward0", pool_backward};

ms_tensor ms_avg_pool(ms_tape *tape, ms_tensor x, ms_dim rows, ms_dim columns)
{
    if (ms_idle(tape) || !x)
        return 0;
    ms_op_mark mark = ms_op_begin(tape, &pool_op);
    uint32_t node = ms_record(tape, &pool_op, 1, &x);
    ms_save(tape, node, x);
    ms_shape shape = ms_info(tape, x)->shape;
    shape.dims[2] = rows;
    shape.dims[3] = columns;
    ms_tensor out = ms_empty(tape, shape, (ms_dtype)ms_info(tape, x)->dtype);
    return ms_op_finish(tape, mark, node, 1, &x, out);
}
