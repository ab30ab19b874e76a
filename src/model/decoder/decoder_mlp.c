/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/decoder/decoder_mlp.h"

#include "input/config/model/model_config.h"
#include "model/decoder/decoder.h"
#include "model/decoder/decoder_layer.h"
#include "torch/ops/liger/liger.h"
#include "torch/ops/ops.h"

typedef struct gated_mlp {
    uint32_t scope;
    ms_linear_module gate_proj, up_proj, down_proj;
} gated_mlp;

void *ms_gated_mlp_named(ms_model *model, uint32_t parent, const char *name, ms_dim middle,
                         bool bias)
{
    gated_mlp *m = ms_arena_array(model->arena, gated_mlp, 1);
    if (!m)
        return NULL;
    ms_dim hidden = model->hidden;
    uint32_t scope = m->scope = ms_scope_add(model->tape, parent, name, MS_NONE);
    m->gate_proj = ms_linear_new(model, scope, "gate_proj", hidden, middle, bias);
    m->up_proj = ms_linear_new(model, scope, "up_proj", hidden, middle, bias);
    m->down_proj = ms_linear_new(model, scope, "down_proj", middle, hidden, bias);
    return m;
}

void *ms_gated_mlp_new(ms_model *model, const ms_decoder *d, uint32_t parent, uint32_t number)
{
    (void)number;
    return ms_gated_mlp_named(model, parent, "mlp", model->intermediate, d->style.mlp_bias);
}

static ms_tensor fused_gate(ms_model *model, ms_tensor gate, ms_tensor up)
{
    return ms_liger_gate(model->tape, gate, up, model->config->activation != MS_ACTIVATION_SILU);
}

/* act(gate(x)) * up(x) */
static ms_tensor gated(ms_model *model, const gated_mlp *m, ms_tensor input)
{
    ms_tensor gate = ms_linear_call(model, &m->gate_proj, input);
    if (model->run->liger & MS_LIGER_SWIGLU)
        return fused_gate(model, gate, ms_linear_call(model, &m->up_proj, input));
    gate = ms_activation_call(model, gate);
    return ms_mul(model->tape, gate, ms_linear_call(model, &m->up_proj, input));
}

ms_tensor ms_gated_mlp_call(ms_model *model, const void *mlp, ms_tensor x)
{
    ms_tape *tape = model->tape;
    const gated_mlp *m = mlp;
    uint32_t previous = ms_scope_enter(tape, m->scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *input = ms_argument(&f, x);
    ms_tensor *down = ms_local(&f, ms_linear_call(model, &m->down_proj, gated(model, m, *input)));
    ms_tensor result = ms_locals_end(&f, down);
    tape->scope = previous;
    return result;
}

ms_tensor ms_gated_mlp(ms_model *model, const ms_decoder_layer *layer, ms_tensor x)
{
    return ms_gated_mlp_call(model, layer->mlp, x);
}
