/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Activations that Python composes, operator by operator.
 */
#include "torch/ops/ops.h"

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
