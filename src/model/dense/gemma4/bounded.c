/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/dense/gemma4/bounded.h"

#include "torch/ops/ops.h"

ms_bounded_linear ms_bounded_linear_new(ms_model *model, uint32_t parent, const char *name,
                                        ms_dim in, ms_dim out, bool has_bounds)
{
    static const char *const names[MS_BOUNDS] = {"input_min", "input_max", "output_min",
                                                 "output_max"};
    ms_tape *tape = model->tape;
    ms_bounded_linear module = {.scope = ms_scope_add(tape, parent, name, MS_NONE)};
    module.linear = ms_linear_new(model, module.scope, "linear", in, out, false);
    uint32_t previous = ms_scope_enter(tape, module.scope);
    for (int i = 0; i < MS_BOUNDS && has_bounds; i++)
        module.bounds[i] = ms_buffer_new(model, (ms_shape){0}, model->run->dtype, names[i]);
    tape->scope = previous;
    return module;
}

/* hidden_states = clamp(hidden_states, ..) */
static void bound(ms_model *model, ms_locals *f, const ms_bounded_linear *module, int first,
                  ms_tensor *hidden)
{
    if (module->bounds[first])
        ms_assign(f, hidden,
                  ms_clamp_between(model->tape, *hidden, module->bounds[first],
                                   module->bounds[first + 1]));
}

ms_tensor ms_bounded_linear_call(ms_model *model, const ms_bounded_linear *module, ms_tensor x)
{
    uint32_t previous = ms_scope_enter(model->tape, module->scope);
    ms_locals f = ms_locals_begin(model->tape);
    ms_tensor *hidden = ms_argument(&f, x);
    bound(model, &f, module, 0, hidden);
    ms_assign(&f, hidden, ms_linear_call(model, &module->linear, *hidden));
    bound(model, &f, module, 2, hidden);
    ms_tensor result = ms_locals_end(&f, hidden);
    model->tape->scope = previous;
    return result;
}
