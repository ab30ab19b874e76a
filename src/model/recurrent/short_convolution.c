/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Causal depthwise convolutions along the sequence.
 */
#include "model/recurrent/short_convolution.h"

#include "model/blocks/blocks.h"
#include "torch/ops/ops.h"

ms_convolution_module ms_convolution_new(ms_model *model, uint32_t parent, const char *name,
                                         ms_dim channels, ms_dim width, bool bias)
{
    ms_convolution_module m = {.scope = ms_scope_add(model->tape, parent, name, MS_NONE)};
    ms_dim one = ms_dim_number(&model->tape->trace->symbols, 1);
    m.weight = ms_parameter_new(model, m.scope, "weight", MS_SHAPE(channels, one, width));
    if (bias)
        m.bias = ms_parameter_new(model, m.scope, "bias", MS_SHAPE(channels));
    return m;
}

ms_tensor ms_convolution_call(ms_model *model, const ms_convolution_module *m,
                              ms_activation activation, ms_tensor x)
{
    ms_tape *tape = model->tape;
    if (ms_idle(tape) || !x)
        return 0;
    uint32_t previous = ms_scope_enter(tape, m->scope);
    ms_dtype dtype = (ms_dtype)ms_info(tape, x)->dtype;
    const ms_dim tokens = ms_info(tape, x)->shape.dims[2];
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *input = ms_argument(&f, x);
    ms_tensor cast = ms_to(tape, *input, (ms_dtype)ms_info(tape, m->weight)->dtype);
    ms_tensor whole = ms_depthwise(tape, cast, m->weight, m->bias);
    ms_tensor *out = ms_local(&f, whole ? ms_narrow(tape, whole, 2, tokens) : 0);
    if (activation != MS_ACTIVATION_COUNT)
        ms_assign(&f, out, ms_activate(tape, activation, *out));
    if (!ms_idle(tape))
        ms_assign(&f, out, ms_to(tape, *out, dtype));
    ms_tensor result = ms_locals_end(&f, out);
    tape->scope = previous;
    return result;
}
