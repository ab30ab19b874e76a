/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A convolution with non-overlapping patches over an input without gradient: images into patches.
 * Allocations inside libraries are not modelled, except that the CPU's computes into a buffer of
 * the output's size.
 */
#include "torch/ops/convolution/convolution.h"

#include "torch/ops/ops.h"

/* ---- depthwise ---- */

/* Depthwise convolutions along a sequence, with PyTorch's own kernels, which need contiguous input.
 */

enum { DEPTHWISE_INPUT, DEPTHWISE_WEIGHT, DEPTHWISE_BIAS };

static void depthwise_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    ms_dtype dtype = (ms_dtype)ms_info(tape, grads[0])->dtype;
    ms_tensor gradient = ms_contiguous_copy(tape, grads[0]);
    ms_tensor input = ms_contiguous_copy(tape, node->saved[0]);
    if (ms_node_wants(node, DEPTHWISE_WEIGHT))
        out[DEPTHWISE_WEIGHT] =
            ms_empty(tape, ms_input_meta(tape, node, DEPTHWISE_WEIGHT)->shape, dtype);
    if (ms_node_wants(node, DEPTHWISE_INPUT))
        out[DEPTHWISE_INPUT] =
            ms_empty(tape, ms_input_meta(tape, node, DEPTHWISE_INPUT)->shape, dtype);
    if (node->edge_count > DEPTHWISE_BIAS && ms_node_wants(node, DEPTHWISE_BIAS))
        out[DEPTHWISE_BIAS] =
            ms_empty(tape, ms_input_meta(tape, node, DEPTHWISE_BIAS)->shape, dtype);
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

/* ---- pool ---- */

/* avg_pool2d with windows that do not overlap (ATen/native/cuda/AveragePool2d.cu): backward reads a
 * contiguous gradient. */

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

/* ---- sound ---- */

enum { SOUND_INPUT, SOUND_WEIGHT, SOUND_BIAS, INPUTS };

/* The gradient is made contiguous; then those of the inputs. */
static void convolve_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    ms_dtype dtype = (ms_dtype)ms_info(tape, grads[0])->dtype;
    ms_tensor copy = ms_contiguous_copy(tape, grads[0]);
    for (uint32_t i = 0; i < INPUTS; i++)
        if (ms_node_wants(node, i))
            out[i] = ms_empty(tape, ms_input_meta(tape, node, i)->shape, dtype);
    ms_consume(tape, copy);
}

static const ms_op convolve_op = {"convolution", "ConvolutionBackward0", convolve_backward};

ms_tensor ms_convolve(ms_tape *tape, ms_tensor x, ms_tensor weight, ms_tensor bias, ms_dim out)
{
    if (ms_idle(tape) || !x || !weight)
        return 0;
    ms_retain(tape, x);
    ms_tensor cast_bias = ms_autocast_lower(tape, bias);
    ms_tensor cast_weight = ms_autocast_lower(tape, weight);
    ms_tensor input = ms_autocast_lower(tape, x);
    ms_op_mark mark = ms_op_begin(tape, &convolve_op);
    ms_tensor inputs[] = {input, cast_weight, cast_bias};
    uint32_t node = ms_record(tape, &convolve_op, INPUTS, inputs);
    ms_save(tape, node, input);
    ms_save(tape, node, cast_weight);
    if (ms_idle(tape))
        return 0;
    const ms_shape kernel = ms_info(tape, cast_weight)->shape;
    ms_dtype dtype = (ms_dtype)ms_info(tape, input)->dtype;
    ms_shape shape = MS_SHAPE(ms_info(tape, input)->shape.dims[0], kernel.dims[0], out);
    ms_tensor blocked = tape->on_cpu ? ms_empty(tape, shape, dtype) : 0;
    ms_tensor result = ms_empty(tape, shape, dtype);
    ms_consume(tape, blocked);
    double per_output = 2.0 * (double)ms_elements(&kernel) / (double)kernel.dims[0].value;
    ms_op_work(tape, mark, per_output * (double)ms_elements(&shape), 0, dtype);
    result = ms_op_finish(tape, mark, node, INPUTS, inputs, result);
    ms_consume(tape, ms_unown(tape, x));
    return result;
}

/* ---- convolution ---- */

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
