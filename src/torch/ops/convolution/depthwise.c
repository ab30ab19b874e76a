/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Depthwise convolutions along a sequence, with PyTorch's own kernels, which need contiguous input.
 */
#include "torch/ops/ops.h"

enum { INPUT, WEIGHT, BIAS };

static void depthwise_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    ms_dtype dtype = (ms_dtype)ms_info(tape, grads[0])->dtype;
    ms_tensor gradient = ms_contiguous_copy(tape, grads[0]);
    ms_tensor input = ms_contiguous_copy(tape, node->saved[0]);
    if (ms_node_wants(node, WEIGHT))
        out[WEIGHT] = ms_empty(tape, ms_input_meta(tape, node, WEIGHT)->shape, dtype);
    if (ms_node_wants(node, INPUT))
        out[INPUT] = ms_empty(tape, ms_input_meta(tape, node, INPUT)->shape, dtype);
    if (node->edge_count > BIAS && ms_node_wants(node, BIAS))
        out[BIAS] = ms_empty(tape, ms_input_meta(tape, node, BIAS)->shape, dtype);
    ms_consume(tape, input);
    ms_consume(tape, gradient);
}

static const ms_op depthwise_op = {"convolution", "ConvolutionBackward0", depthwise_backward};

/* With zeros around the sequence, as many as the width less one; else none. */
static ms_tensor convolve(ms_tape *tape, ms_tensor x, ms_tensor weight, ms_tensor bias,
                          bool is_padded)
{
    if (ms_idle(tape) || !x || !weight)
        return 0;
    ms_retain(tape, x); /* an argument */
    ms_tensor cast_bias = ms_autocast_lower(tape, bias);
    ms_tensor cast_weight = ms_autocast_lower_view(tape, weight);
    ms_tensor input = ms_autocast_lower(tape, x);
    ms_op_mark mark = ms_op_begin(tape, &depthwise_op);
    const ms_tensor inputs[] = {input, cast_weight, cast_bias};
    uint32_t node = ms_record(tape, &depthwise_op, bias ? 3 : 2, inputs);
    ms_save(tape, node, input);
    ms_save(tape, node, cast_weight);
    if (ms_idle(tape)) {
        ms_release(tape, x);
        return 0;
    }
    ms_symbols *s = &tape->trace->symbols;
    ms_shape shape = ms_info(tape, input)->shape;
    const ms_dim width = ms_info(tape, cast_weight)->shape.dims[2];
    ms_dim beyond = ms_dim_number(s, width.value - 1);
    shape.dims[2] =
        is_padded ? ms_dim_add(s, shape.dims[2], beyond) : ms_dim_rest(s, shape.dims[2], beyond);
    ms_tensor copy = ms_contiguous_copy(tape, input);
    ms_tensor out = ms_empty(tape, shape, (ms_dtype)ms_info(tape, input)->dtype);
    ms_consume(tape, copy);
    ms_op_work(tape, mark, 2.0 * (double)ms_elements(&shape) * (double)width.value, 0,
               (ms_dtype)ms_info(tape, input)->dtype);
    out = ms_op_finish(tape, mark, node, 3, inputs, out);
    ms_release(tape, x);
    return out;
}

ms_tensor ms_depthwise(ms_tape *tape, ms_tensor x, ms_tensor weight, ms_tensor bias)
{
    return convolve(tape, x, weight, bias, true);
}

ms_tensor ms_depthwise_inside(ms_tape *tape, ms_tensor x, ms_tensor weight, ms_tensor bias)
{
    return convolve(tape, x, weight, bias, false);
}
