/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Unary elementwise operators: a row each. They differ in what the node saves (the input, the
 * result, nothing) and in what backward allocates besides one new tensor.
 */
#include "torch/ops/ops.h"

typedef enum saves { SAVES_NOTHING, SAVES_INPUT, SAVES_RESULT } saves;

typedef struct unary_op {
    ms_op op;
    saves what;
} unary_op;

static ms_tensor gradient_out(ms_tape *tape, const ms_node *node, const ms_tensor *grads)
{
    ms_tensor inputs[2] = {grads[0], node->saved_count ? node->saved[0] : 0};
    return ms_elementwise_out(tape, node->saved_count ? 2 : 1, inputs,
                              (ms_dtype)ms_info(tape, grads[0])->dtype);
}

/* One kernel, one new tensor: neg, silu, gelu, tanh, relu. */
static void fused_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    out[0] = gradient_out(tape, node, grads);
}

/* -0.5 * grad * result.pow(3) */
static void rsqrt_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    ms_tensor half_grad =
        ms_empty_like(tape, node->saved[0], (ms_dtype)ms_info(tape, grads[0])->dtype);
    ms_tensor cube = gradient_out(tape, node, grads);
    out[0] = gradient_out(tape, node, grads);
    ms_consume(tape, cube);
    ms_consume(tape, half_grad);
}

/* grad * (exponent * self.pow(exponent - 1)) */
static void pow_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    ms_dtype dtype = (ms_dtype)ms_info(tape, node->saved[0])->dtype;
    ms_tensor power = ms_empty_like(tape, node->saved[0], dtype);
    ms_tensor scaled = ms_empty_like(tape, node->saved[0], dtype);
    out[0] = gradient_out(tape, node, grads);
    ms_consume(tape, scaled);
    ms_consume(tape, power);
}

/* grad / (2 * result) */
static void sqrt_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    ms_tensor twice = ms_empty_like(tape, node->saved[0], (ms_dtype)ms_info(tape, grads[0])->dtype);
    out[0] = gradient_out(tape, node, grads);
    ms_consume(tape, twice);
}

/* clang-format off */
static const unary_op neg_op   = {{"neg",   "NegBackward0",   fused_backward}, SAVES_NOTHING};
static const unary_op pow_op   = {{"pow",   "PowBackward0",   pow_backward},   SAVES_INPUT};
static const unary_op rsqrt_op = {{"rsqrt", "RsqrtBackward0", rsqrt_backward}, SAVES_RESULT};
static const unary_op sqrt_op  = {{"sqrt",  "SqrtBackward0",  sqrt_backward},  SAVES_RESULT};
static const unary_op erfinv_op = {{"erfinv", "ErfinvBackward0", NULL},        SAVES_NOTHING};
static const unary_op tanh_op  = {{"tanh",  "TanhBackward0",  fused_backward}, SAVES_RESULT};
static const unary_op silu_op  = {{"silu",  "SiluBackward0",  fused_backward}, SAVES_INPUT};
static const unary_op gelu_op  = {{"gelu",  "GeluBackward0",  fused_backward}, SAVES_INPUT};
static const unary_op relu_op  = {{"relu",  "ReluBackward0",  fused_backward}, SAVES_RESULT};
static const unary_op sigmoid_op = {{"sigmoid", "SigmoidBackward0", fused_backward}, SAVES_RESULT};
static const unary_op exp_op   = {{"exp",   "ExpBackward0",   fused_backward}, SAVES_RESULT};
static const unary_op softplus_op = {{"softplus", "SoftplusBackward0", fused_backward}, SAVES_INPUT};
static const unary_op cos_op   = {{"cos",   "CosBackward0",   NULL},           SAVES_NOTHING};
static const unary_op log_op   = {{"log",   "LogBackward0",   NULL},           SAVES_NOTHING};
static const unary_op log1p_op = {{"log1p", "Log1PBackward0", NULL},           SAVES_NOTHING};
static const unary_op floor_op = {{"floor", "FloorBackward0", NULL},           SAVES_NOTHING};
static const unary_op sin_op   = {{"sin",   "SinBackward0",   NULL},           SAVES_NOTHING};
/* clang-format on */

static ms_tensor run(ms_tape *tape, const unary_op *row, ms_tensor a)
{
    ms_op_mark mark = ms_op_begin(tape, &row->op);
    uint32_t node = ms_record(tape, &row->op, 1, &a);
    if (row->what == SAVES_INPUT)
        ms_save(tape, node, a);
    ms_tensor out = ms_elementwise_out(tape, 1, &a, (ms_dtype)ms_info(tape, a)->dtype);
    if (row->what == SAVES_RESULT)
        ms_save(tape, node, out);
    return ms_op_finish(tape, mark, node, 1, &a, out);
}

ms_tensor ms_neg(ms_tape *tape, ms_tensor a)
{
    return run(tape, &neg_op, a);
}

/* CUDA's autocast runs powers and roots in fp32; the CPU's leaves them alone. */
static ms_tensor in_autocast(ms_tape *tape, ms_tensor a)
{
    return tape->on_cpu ? a : ms_autocast_fp32(tape, a);
}

ms_tensor ms_pow(ms_tape *tape, ms_tensor a)
{
    return run(tape, &pow_op, in_autocast(tape, a));
}

ms_tensor ms_rsqrt(ms_tape *tape, ms_tensor a)
{
    return run(tape, &rsqrt_op, in_autocast(tape, a));
}

ms_tensor ms_sqrt(ms_tape *tape, ms_tensor a)
{
    return run(tape, &sqrt_op, a);
}

ms_tensor ms_erfinv(ms_tape *tape, ms_tensor a)
{
    return run(tape, &erfinv_op, a);
}

ms_tensor ms_exp(ms_tape *tape, ms_tensor a)
{
    return run(tape, &exp_op, in_autocast(tape, a));
}

ms_tensor ms_softplus(ms_tape *tape, ms_tensor a)
{
    return run(tape, &softplus_op, in_autocast(tape, a));
}

ms_tensor ms_tanh(ms_tape *tape, ms_tensor a)
{
    return run(tape, &tanh_op, a);
}

ms_tensor ms_cos(ms_tape *tape, ms_tensor a)
{
    return run(tape, &cos_op, a);
}

ms_tensor ms_sin(ms_tape *tape, ms_tensor a)
{
    return run(tape, &sin_op, a);
}

ms_tensor ms_log(ms_tape *tape, ms_tensor a)
{
    return run(tape, &log_op, a);
}

ms_tensor ms_log1p(ms_tape *tape, ms_tensor a)
{
    return run(tape, &log1p_op, a);
}

ms_tensor ms_floor(ms_tape *tape, ms_tensor a)
{
    return run(tape, &floor_op, a);
}

ms_tensor ms_silu(ms_tape *tape, ms_tensor a)
{
    return run(tape, &silu_op, a);
}

ms_tensor ms_gelu(ms_tape *tape, ms_tensor a)
{
    return run(tape, &gelu_op, a);
}

ms_tensor ms_relu(ms_tape *tape, ms_tensor a)
{
    return run(tape, &relu_op, a);
}

ms_tensor ms_sigmoid(ms_tape *tape, ms_tensor a)
{
    return run(tape, &sigmoid_op, a);
}
