/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/blocks/powered_norm.h"

#include "torch/ops/ops.h"

/* x * (mean(x ** 2) + eps) ** -0.5 */
static ms_tensor normed(ms_tape *tape, ms_tensor x)
{
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_local(&f, x);
    ms_tensor square = ms_mean_last(tape, ms_pow(tape, *hidden));
    ms_tensor *mean = ms_local(&f, ms_add_scalar(tape, square));
    ms_tensor *out = ms_local(&f, ms_mul(tape, *hidden, ms_pow(tape, *mean)));
    return ms_locals_end(&f, out);
}

static ms_tensor norm(ms_tape *tape, ms_tensor x, ms_tensor weight)
{
    if (ms_idle(tape) || !x) {
        ms_consume(tape, x);
        return 0;
    }
    ms_dtype dtype = (ms_dtype)ms_info(tape, x)->dtype;
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, x);
    ms_tensor *output = ms_local(&f, normed(tape, ms_to(tape, *hidden, MS_DTYPE_F32)));
    if (weight)
        ms_assign(&f, output, ms_mul(tape, *output, ms_to(tape, weight, MS_DTYPE_F32)));
    ms_tensor *out = ms_local(&f, ms_to(tape, *output, dtype));
    return ms_locals_end(&f, out);
}

static ms_tensor run_norm(ms_tape *tape, void *context, uint64_t number, ms_tensor x)
{
    (void)context;
    const ms_norm_module *module = ms_norm_of(number);
    uint32_t previous = ms_scope_enter(tape, module->scope);
    ms_tensor out = norm(tape, x, module->weight);
    tape->scope = previous;
    return out;
}

ms_tensor ms_powered_norm_call(ms_model *model, const ms_norm_module *module, ms_tensor x)
{
    return module->weight ? ms_norm_call(model, module, x, run_norm)
                          : run_norm(model->tape, model, (uintptr_t)module, x);
}
