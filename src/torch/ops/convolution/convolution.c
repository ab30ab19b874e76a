/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A convolution with non-overlapping patches over an input without gradient: images into patches.
 * Allocations inside libraries are not modelled, except that the CPU's computes into a buffer of
 * the output's size.
 */
#include "torch/ops/ops.h"

enum { WEIGHT, BIAS };

/* The gradient is made contiguous; then those of the weight and the bias. */
static void convolution_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads,
                                 ms_tensor *out)
{
    ms_dtype dtype = (ms_dtype)ms_info(tape, grads[0])->dtype;
    ms_tensor copy = ms_contiguous_copy(tape, grads[0]);
    if (ms_node_wants(node, WEIGHT))
        out[WEIGHT] = ms_empty(tape, ms_input_meta(tape, node, WEIGHT)->shape, dtype);
    if (ms_node_wants(node, BIAS))
        out[BIAS] = ms_empty(tape, ms_input_meta(tape, node, BIAS)->shape, dtype);
    ms_consume(tape, copy);
}

static const ms_op convolution_op = {"convolution", "ConvolutionBackward0", convolution_backward};

ms_tensor ms_patches(ms_tape *tape, ms_tensor pixels, ms_tensor weight, ms_tensor bias, ms_dim rows,
                     ms_dim columns)
{
    if (ms_idle(tape) || !pixels || !weight)
        return 0;
    ms_tensor cast_bias = ms_autocast_lower(tape, bias);
    ms_tensor cast_weight = ms_autocast_lower(tape, weight);
    ms_tensor input = ms_autocast_lower(tape, pixels);
    ms_op_mark mark = ms_op_begin(tape, &convolution_op);
    uint32_t node = ms_record(tape, &convolution_op, 2, (ms_tensor[]){cast_weight, cast_bias});
    ms_save(tape, node, input);
    ms_save(tape, node, cast_weight);
    if (ms_idle(tape))
        return 0;
    const ms_shape kernel = ms_info(tape, cast_weight)->shape;
    ms_dtype dtype = (ms_dtype)ms_info(tape, input)->dtype;
    ms_shape shape = MS_SHAPE(ms_info(tape, input)->shape.dims[0], kernel.dims[0], rows, columns);
    ms_tensor blocked = tape->on_cpu ? ms_empty(tape, shape, dtype) : 0;
    ms_tensor out = ms_empty(tape, shape, dtype);
    ms_consume(tape, blocked);
    double per_output = 2.0 * (double)ms_elements(&kernel) / (double)kernel.dims[0].value;
    ms_op_work(tape, mark, per_output * (double)ms_elements(&shape), 0, dtype);
    return ms_op_finish(tape, mark, node, 3, (ms_tensor[]){input, cast_weight, cast_bias}, out);
}
