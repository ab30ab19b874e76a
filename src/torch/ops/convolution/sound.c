/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "torch/ops/convolution/sound.h"

#include "torch/ops/ops.h"

enum { INPUT, WEIGHT, BIAS, INPUTS };

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
