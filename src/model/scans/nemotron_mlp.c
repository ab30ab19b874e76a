/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/scans/nemotron_mlp.h"

#include "input/config/model/model_config.h"
#include "model/blocks/blocks.h"
#include "model/decoder/experts.h"
#include "model/mixture/deepseek_moe.h"
#include "torch/ops/ops.h"

typedef struct plain_mlp {
    uint32_t scope;
    ms_linear_module up, down;
} plain_mlp;

typedef struct mixture {
    uint32_t scope;
    ms_experts_module experts;
    ms_group_router router;
    plain_mlp shared;
    ms_linear_module into, out_of; /* the latent; weight 0: there is none */
} mixture;

static const ms_deepseek_form form = {.route = ms_route_by_sigmoid, .has_bias = true};

/* ---- construction ---- */

static plain_mlp mlp_new(ms_model *model, uint32_t parent, const char *name, ms_dim width)
{
    const bool bias = model->config->mlp_bias;
    plain_mlp m = {.scope = ms_scope_add(model->tape, parent, name, MS_NONE)};
    m.up = ms_linear_new(model, m.scope, "up_proj", model->hidden, width, bias);
    m.down = ms_linear_new(model, m.scope, "down_proj", width, model->hidden, bias);
    return m;
}

static bool mixture_new(ms_model *model, uint32_t parent, mixture *m)
{
    ms_symbols *s = &model->tape->trace->symbols;
    const ms_model_config *c = model->config;
    ms_experts_form experts = {.ungated = true, .width = c->expert_latent};
    m->scope = ms_scope_add(model->tape, parent, "mixer", MS_NONE);
    m->experts = ms_experts_new(model, m->scope, experts);
    m->router = ms_group_router_new(model, m->scope, form);
    m->shared =
        mlp_new(model, m->scope, "shared_experts", ms_dim_name(s, "Fs", c->shared_expert_size));
    if (c->expert_latent == 0)
        return true;
    const ms_dim latent = m->experts.width;
    m->into = ms_linear_new(model, m->scope, "fc1_latent_proj", model->hidden, latent, c->mlp_bias);
    m->out_of =
        ms_linear_new(model, m->scope, "fc2_latent_proj", latent, model->hidden, c->mlp_bias);
    return true;
}

void *ms_nemotron_mlp_new(ms_model *model, uint32_t parent, uint64_t layer)
{
    if (ms_layer_is_sparse(model, layer)) {
        mixture *m = ms_arena_array(model->arena, mixture, 1);
        return m && mixture_new(model, parent, m) ? m : NULL;
    }
    plain_mlp *m = ms_arena_array(model->arena, plain_mlp, 1);
    if (m)
        *m = mlp_new(model, parent, "mixer", model->intermediate);
    return m;
}

/* ---- forward ---- */

/* down_proj(act(up_proj(x))), in one expression */
static ms_tensor run_mlp(ms_model *model, const plain_mlp *m, ms_tensor x)
{
    ms_tape *tape = model->tape;
    uint32_t previous = ms_scope_enter(tape, m->scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *input = ms_argument(&f, x);
    ms_tensor middle = ms_activation_call(model, ms_linear_call(model, &m->up, *input));
    ms_tensor *out = ms_local(&f, ms_linear_call(model, &m->down, middle));
    ms_tensor result = ms_locals_end(&f, out);
    tape->scope = previous;
    return result;
}

static ms_tensor run_mixture(ms_model *model, const mixture *m, ms_tensor x)
{
    ms_tape *tape = model->tape;
    if (ms_idle(tape) || !x)
        return 0;
    const ms_shape shape = ms_info(tape, x)->shape;
    const bool has_latent = m->into.weight != 0;
    uint32_t previous = ms_scope_enter(tape, m->scope);
    ms_routing routing;
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, x);
    ms_tensor *residual = ms_local(&f, *hidden);
    ms_group_router_call(model, form, &m->router, *residual, &routing);
    ms_routing_bind(&f, &routing);
    ms_assign(&f, hidden, ms_as_tokens(model, *hidden));
    if (has_latent)
        ms_assign(&f, hidden, ms_linear_call(model, &m->into, *hidden));
    ms_assign(&f, hidden, ms_experts_call(model, &m->experts, *hidden, &routing));
    if (has_latent)
        ms_assign(&f, hidden, ms_linear_call(model, &m->out_of, *hidden));
    ms_assign(&f, hidden, ms_view(tape, *hidden, shape));
    ms_assign(&f, hidden, ms_add(tape, *hidden, run_mlp(model, &m->shared, *residual)));
    ms_tensor result = ms_locals_end(&f, hidden);
    tape->scope = previous;
    return result;
}

ms_tensor ms_nemotron_mlp_call(ms_model *model, const void *mlp, uint64_t layer, ms_tensor hidden)
{
    return ms_layer_is_sparse(model, layer) ? run_mixture(model, mlp, hidden)
                                            : run_mlp(model, mlp, hidden);
}
