/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Gemma 4's experts, which run beside the MLP of a layer: both read the same states, and the
 * normalised results are added.
 */
#include "model/dense/gemma4/experts.h"

#include "model/blocks/host/host_modules.h"
#include "model/decoder/experts.h"
#include "model/dense/gemma4/attention.h"
#include "torch/ops/moe/routing.h"
#include "torch/ops/moe/rows.h"
#include "torch/ops/ops.h"

typedef struct ms_gemma4_experts {
    uint32_t router_scope;
    ms_linear_module proj;
    ms_tensor scale, expert_scale; /* [H], [E] */
    ms_experts_module experts;
    ms_norm_module after_mlp, after_experts, before_experts;
} ms_gemma4_experts;

static void build_router(ms_model *model, ms_gemma4_experts *m, uint32_t parent)
{
    uint32_t scope = m->router_scope = ms_scope_add(model->tape, parent, "router", MS_NONE);
    uint32_t first = model->tape->parameters.count;
    (void)ms_scope_add(model->tape, scope, "norm", MS_NONE);
    m->proj = ms_linear_new(model, scope, "proj", model->hidden, ms_expert_count(model), false);
    m->scale = ms_parameter_new(model, scope, "scale", MS_SHAPE(model->hidden));
    ms_parameter_move_last(model, first);
    m->expert_scale =
        ms_parameter_new(model, scope, "per_expert_scale", MS_SHAPE(ms_expert_count(model)));
    ms_parameter_move_last(model, first + 1);
}

ms_gemma4_experts *ms_gemma4_experts_new(ms_model *model, uint32_t parent)
{
    ms_gemma4_experts *m = ms_arena_array(model->arena, ms_gemma4_experts, 1);
    if (!m)
        return NULL;
    build_router(model, m, parent);
    m->experts = ms_experts_new(model, parent, (ms_experts_form){0});
    m->after_mlp = ms_norm_new(model, parent, "post_feedforward_layernorm_1", model->hidden, false);
    m->after_experts =
        ms_norm_new(model, parent, "post_feedforward_layernorm_2", model->hidden, false);
    m->before_experts =
        ms_norm_new(model, parent, "pre_feedforward_layernorm_2", model->hidden, false);
    return m;
}

/* norm(x) * scale * c, projected; the top K of its softmax, normalised, times their scales. */
static void route(ms_model *model, const ms_gemma4_experts *m, ms_tensor x, ms_routing *out)
{
    ms_tape *tape = model->tape;
    ms_tensor best[2];
    *out = (ms_routing){0};
    uint32_t previous = ms_scope_enter(tape, m->router_scope);
    const ms_fetched fetched = ms_host_fetch_pair(model, m->scale, m->expert_scale);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, x);
    ms_assign(&f, hidden, ms_gemma4_unit_norm(model, *hidden));
    if (!ms_idle(tape))
        ms_assign(&f, hidden, ms_mul_scalar(tape, ms_mul(tape, *hidden, m->scale)));
    ms_tensor *scores = ms_local(&f, ms_linear_call(model, &m->proj, *hidden));
    ms_tensor *probabilities =
        ms_local(&f, ms_idle(tape) ? 0 : ms_softmax_last(tape, *scores, MS_DTYPE_F32));
    ms_topk(tape, *probabilities, ms_experts_per_token(model), best);
    ms_tensor *weights = ms_local(&f, best[0]), *experts = ms_local(&f, best[1]);
    ms_assign(&f, weights, ms_div_into(tape, *weights, ms_sum_dim(tape, *weights, 1, true)));
    ms_tensor scales = ms_index_rows(tape, m->expert_scale, *experts);
    if (!ms_idle(tape))
        ms_assign(&f, weights, ms_mul(tape, *weights, scales));
    ms_routing_keep(model, *probabilities, *weights, *experts, out);
    ms_locals_end(&f, NULL);
    ms_host_drop(model, &fetched);
    tape->scope = previous;
}

void ms_gemma4_add_experts(ms_model *model, ms_locals *f, const ms_gemma4_experts *m,
                           ms_tensor residual, ms_tensor *second, ms_tensor *hidden)
{
    ms_tape *tape = model->tape;
    if (ms_idle(tape) || !residual)
        return;
    const ms_shape shape = ms_info(tape, residual)->shape;
    ms_routing routing;
    ms_tensor *from_mlp = ms_local(f, ms_gemma4_norm(model, &m->after_mlp, *hidden));
    ms_tensor *flat = ms_local(f, ms_as_tokens(model, residual));
    route(model, m, *flat, &routing);
    ms_assign(f, second, routing.logits);
    ms_release(tape, routing.logits);
    ms_local(f, routing.weights);
    ms_release(tape, routing.weights);
    ms_local(f, routing.experts);
    ms_release(tape, routing.experts);
    ms_tensor *routed = ms_local(f, ms_gemma4_norm(model, &m->before_experts, *flat));
    ms_assign(f, routed, ms_experts_call(model, &m->experts, *routed, &routing));
    ms_assign(f, routed, ms_idle(tape) ? 0 : ms_reshape(tape, *routed, shape));
    ms_assign(f, routed, ms_gemma4_norm(model, &m->after_experts, *routed));
    ms_assign(f, hidden, ms_idle(tape) ? 0 : ms_add(tape, *from_mlp, *routed));
}
