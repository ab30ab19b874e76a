/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * BLOOM's GELU: a function of Python with a backward of its own, operator by operator.
 */
#include "torch/ops/ops.h"

/* c * x * (1 + d * x * x), of the tanh */
static ms_tensor inner(ms_tape *tape, ms_tensor x)
{
    ms_tensor scaled = ms_mul_scalar(tape, x);
    ms_tensor square = ms_mul(tape, ms_mul_scalar(tape, x), x);
    return ms_mul(tape, scaled, ms_add_scalar(tape, square));
}

/* 0.5 * x * ((1 - t * t) * (c + e * x * x)) + 0.5 * (1 + t) */
static ms_tensor slope(ms_tape *tape, ms_tensor x, ms_tensor t)
{
    ms_tensor half = ms_mul_scalar(tape, x);
    ms_tensor rest = ms_add_scalar(tape, ms_mul(tape, t, t));
    ms_tensor square = ms_mul(tape, ms_mul_scalar(tape, x), x);
    ms_tensor product = ms_mul(tape, rest, ms_add_scalar(tape, square));
    product = ms_mul(tape, half, product);
    return ms_add(tape, product, ms_mul_scalar(tape, ms_add_scalar(tape, t)));
}

static void backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    ms_tensor x = node->saved[0], grad = grads[0];
    ms_retain(tape, grad);
    ms_tensor t = ms_tanh(tape, inner(tape, x));
    ms_retain(tape, t);
    ms_tensor ff = slope(tape, x, t);
    ms_retain(tape, ff);
    out[0] = ms_idle(tape) ? 0 : ms_mul(tape, ff, grad);
    ms_release(tape, t);
    ms_release(tape, ff);
    ms_unown(tape, grad);
}

static const ms_op op = {"bloom_gelu", "GeLUFunctionBackward", backward};

ms_tensor ms_bloom_gelu(ms_tape *tape, ms_tensor x)
{
    if (ms_idle(tape) || !x)
        return 0;
    ms_op_mark mark = ms_op_begin(tape, &op);
    uint32_t node = ms_record(tape, &op, 1, &x);
    ms_save(tape, node, x);
    bool grad_enabled = tape->grad_enabled;
    tape->grad_enabled = false;
    ms_retain(tape, x);
    ms_tensor half = ms_mul_scalar(tape, x);
    ms_tensor outer = ms_add_scalar(tape, ms_tanh(tape, inner(tape, x)));
    ms_tensor result = ms_mul(tape, half, outer);
    ms_unown(tape, x);
    tape->grad_enabled = grad_enabled;
    return ms_op_finish(tape, mark, node, 1, &x, result);
}
