/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Unary elementwise operators: a row each. They differ in what the node saves (the input, the
 * result, nothing) and in what backward allocates besides one new tensor.
 */
#include "torch/ops/ops.h"

/* ---- bloom gelu ---- */

/* BLOOM's GELU: a function of Python with a backward of its own, operator by operator. */

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

/* ---- activations ---- */

/* Activations that Python composes, operator by operator. */

/* 0.5 * x * (1 + tanh(c * (x + c * x**3))), operator by operator */
ms_tensor ms_gelu_new(ms_tape *tape, ms_tensor x)
{
    ms_tensor half = ms_mul_scalar(tape, x);
    ms_tensor cubic = ms_mul_scalar(tape, ms_pow(tape, x));
    ms_tensor inner = ms_mul_scalar(tape, ms_add(tape, x, cubic));
    ms_tensor outer = ms_add_scalar(tape, ms_tanh(tape, inner));
    return ms_mul(tape, half, outer);
}

/* 0.5 * x * (1 + tanh(x * c * (1 + d * x * x))) */
ms_tensor ms_gelu_fast(ms_tape *tape, ms_tensor x)
{
    ms_tensor half = ms_mul_scalar(tape, x);
    ms_tensor scaled = ms_mul_scalar(tape, x);
    ms_tensor square = ms_mul(tape, ms_mul_scalar(tape, x), x);
    ms_tensor inner = ms_mul(tape, scaled, ms_add_scalar(tape, square));
    ms_tensor outer = ms_add_scalar(tape, ms_tanh(tape, inner));
    return ms_mul(tape, half, outer);
}

ms_tensor ms_quick_gelu(ms_tape *tape, ms_tensor x)
{
    return ms_mul(tape, x, ms_sigmoid(tape, ms_mul_scalar(tape, x)));
}

ms_tensor ms_relu2(ms_tape *tape, ms_tensor x)
{
    ms_tensor applied = ms_relu(tape, x);
    ms_retain(tape, applied); /* a local */
    ms_tensor out = ms_pow(tape, applied);
    ms_release(tape, applied);
    return out;
}

/* ---- clamp ---- */

/* clamp: backward needs to know where the bounds applied. */

/* With a Python number: on the CPU a tensor of 8 bytes and its copy in the dtype. */
static ms_tensor compare(ms_tape *tape, ms_tensor a)
{
    ms_dtype dtype = (ms_dtype)ms_info(tape, a)->dtype;
    ms_tensor wrapped = tape->on_cpu ? ms_empty_bytes(tape, 8, MS_DTYPE_F64) : 0;
    ms_tensor copy = tape->on_cpu ? ms_empty_bytes(tape, ms_dtype_bytes(dtype), dtype) : 0;
    ms_tensor out = ms_elementwise_out(tape, 1, &a, MS_DTYPE_BOOL);
    ms_consume(tape, copy);
    ms_consume(tape, wrapped);
    return out;
}

static void clamp_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    ms_tensor self = node->saved[0], within[2] = {0};
    ms_dtype dtype = (ms_dtype)ms_info(tape, grads[0])->dtype;
    ms_tensor zero = ms_empty_bytes(tape, ms_dtype_bytes(dtype), dtype);
    for (uint64_t i = 0; i < node->numbers[0]; i++) {
        within[i] = compare(tape, self);
    }
    out[0] = ms_elementwise_out(tape, 1, grads, dtype);
    ms_consume(tape, within[1]);
    ms_consume(tape, within[0]);
    ms_consume(tape, zero);
}

static const ms_op clamp_op = {"clamp", "ClampBackward1", clamp_backward};

ms_tensor ms_clamp(ms_tape *tape, ms_tensor a, uint32_t bounds)
{
    if (ms_idle(tape) || !a)
        return 0;
    ms_op_mark mark = ms_op_begin(tape, &clamp_op);
    uint32_t node = ms_record(tape, &clamp_op, 1, &a);
    ms_node_numbers(tape, node, 1, (uint64_t[]){bounds});
    ms_save(tape, node, a);
    ms_tensor out = ms_elementwise_out(tape, 1, &a, (ms_dtype)ms_info(tape, a)->dtype);
    return ms_op_finish(tape, mark, node, 1, &a, out);
}

/* ---- by tensors of one element, which have no gradient ---- */

static void clamp_between_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads,
                                   ms_tensor *out)
{
    ms_tensor self = node->saved[0];
    ms_dtype dtype = (ms_dtype)ms_info(tape, grads[0])->dtype;
    ms_tensor above = ms_elementwise_out(tape, 1, &self, MS_DTYPE_BOOL);
    ms_tensor below = ms_elementwise_out(tape, 1, &self, MS_DTYPE_BOOL);
    ms_tensor zero = ms_empty_bytes(tape, ms_dtype_bytes(dtype), dtype);
    out[0] = ms_elementwise_out(tape, 1, grads, dtype);
    ms_consume(tape, zero);
    ms_consume(tape, below);
    ms_consume(tape, above);
}

static const ms_op clamp_between_op = {"clamp", "ClampBackward0", clamp_between_backward};

ms_tensor ms_clamp_between(ms_tape *tape, ms_tensor a, ms_tensor least, ms_tensor most)
{
    if (ms_idle(tape) || !a)
        return 0;
    ms_op_mark mark = ms_op_begin(tape, &clamp_between_op);
    uint32_t node = ms_record(tape, &clamp_between_op, 1, &a);
    ms_save(tape, node, a);
    ms_save(tape, node, least);
    ms_save(tape, node, most);
    ms_tensor out = ms_elementwise_out(tape, 1, &a, (ms_dtype)ms_info(tape, a)->dtype);
    return ms_op_finish(tape, mark, node, 1, &a, out);
}

/* ---- divide ---- */

/* Division of tensors: backward divides the gradient, and of a divisor that needs one it makes the
 * quotient again. */

enum { DIVISOR, DIVIDED }; /* saved, the latter where the divisor needs a gradient */

/* -grad * ((a / b) / b) */
static ms_tensor divisor_gradient(ms_tape *tape, ms_tensor grad, ms_tensor a, ms_tensor b)
{
    ms_dtype dtype = (ms_dtype)ms_info(tape, grad)->dtype;
    ms_tensor quotient = ms_elementwise_out(tape, 2, (ms_tensor[]){a, b}, dtype);
    ms_tensor again = ms_idle(tape) ? 0 : ms_empty_like(tape, quotient, dtype);
    ms_tensor negated = ms_empty_like(tape, grad, dtype);
    ms_tensor result =
        ms_idle(tape) ? 0 : ms_elementwise_out(tape, 2, (ms_tensor[]){negated, again}, dtype);
    ms_consume(tape, negated);
    ms_consume(tape, again);
    ms_consume(tape, quotient);
    return result;
}

static void div_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    ms_tensor a = node->saved_count > DIVIDED ? node->saved[DIVIDED] : 0;
    if (a)
        out[1] = divisor_gradient(tape, grads[0], a, node->saved[DIVISOR]);
    if (ms_node_wants(node, 0) && !ms_idle(tape))
        out[0] = ms_empty_like(tape, grads[0], (ms_dtype)ms_info(tape, grads[0])->dtype);
}

static const ms_op div_op = {"div", "DivBackward0", div_backward};

ms_tensor ms_div(ms_tape *tape, ms_tensor a, ms_tensor b)
{
    if (ms_idle(tape) || !a || !b) {
        ms_consume(tape, a);
        ms_consume(tape, b);
        return 0;
    }
    ms_op_mark mark = ms_op_begin(tape, &div_op);
    ms_tensor inputs[] = {a, b};
    uint32_t node = ms_record(tape, &div_op, 2, inputs);
    ms_dtype dtype = (ms_dtype)ms_info(tape, a)->dtype;
    ms_save(tape, node, b);
    if (ms_needs_grad(tape, b))
        ms_save(tape, node, a);
    bool is_cast = tape->on_cpu && ms_info(tape, b)->dtype != dtype;
    ms_tensor copy = is_cast ? ms_empty_like(tape, b, dtype) : 0;
    ms_tensor out = ms_empty_like(tape, a, dtype);
    ms_consume(tape, copy);
    return ms_op_finish(tape, mark, node, 2, inputs, out);
}

/* ---- unary ---- */

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
