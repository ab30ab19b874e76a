/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/decoder/shared_expert.h"

#include "input/config/model/model_config.h"
#include "model/decoder/decoder_mlp.h"
#include "model/decoder/experts.h"
#include "torch/ops/ops.h"

typedef struct shared_mlp {
    uint32_t scope;
    ms_router_module router;
    ms_experts_module experts;
    void *shared_expert;
    ms_linear_module shared_gate;
} shared_mlp;

void *ms_shared_mlp_new(ms_model *model, uint32_t parent)
{
    ms_symbols *s = &model->tape->trace->symbols;
    ms_dim width = ms_dim_name(s, "Fs", model->config->shared_expert_size);
    shared_mlp *m = ms_arena_array(model->arena, shared_mlp, 1);
    if (!m)
        return NULL;
    m->scope = ms_scope_add(model->tape, parent, "mlp", MS_NONE);
    m->router = ms_router_new(model, m->scope);
    m->experts = ms_experts_new(model, m->scope, (ms_experts_form){0});
    m->shared_expert = ms_gated_mlp_named(model, m->scope, "shared_expert", width, false);
    m->shared_gate = ms_linear_new(model, m->scope, "shared_expert_gate", model->hidden,
                                   ms_dim_number(s, 1), false);
    return m->shared_expert ? m : NULL;
}

/* experts(x) + sigmoid(gate(x)) * shared_expert(x) */
ms_tensor ms_shared_mlp(ms_model *model, const void *block, ms_tensor hidden)
{
    ms_tape *tape = model->tape;
    const shared_mlp *m = block;
    if (ms_idle(tape) || !hidden)
        return 0;
    const ms_router_form form = {.normalises = model->config->normalises_experts,
                                 .casts_back = true};
    const ms_shape shape = ms_info(tape, hidden)->shape;
    uint32_t previous = ms_scope_enter(tape, m->scope);
    ms_routing routing;
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *input = ms_argument(&f, hidden);
    ms_tensor *tokens = ms_local(&f, ms_as_tokens(model, *input));
    ms_tensor *shared = ms_local(&f, ms_gated_mlp_call(model, m->shared_expert, *tokens));
    ms_router_call(model, &m->router, form, *tokens, &routing);
    ms_routing_bind(&f, &routing);
    ms_tensor *out = ms_local(&f, ms_experts_call(model, &m->experts, *tokens, &routing));
    ms_tensor gate = ms_sigmoid(tape, ms_linear_call(model, &m->shared_gate, *tokens));
    ms_assign(&f, shared, ms_mul(tape, gate, *shared));
    ms_assign(&f, out, ms_add(tape, *out, *shared));
    ms_assign(&f, out, ms_reshape(tape, *out, shape));
    ms_tensor result = ms_locals_end(&f, out);
    tape->scope = previous;
    return result;
}
