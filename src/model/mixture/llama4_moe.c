/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/mixture/llama4_moe.h"

#include "model/blocks/host/host_modules.h"
#include "model/decoder/decoder_mlp.h"
#include "model/decoder/experts.h"
#include "torch/ops/moe/routing.h"
#include "torch/ops/moe/rows.h"

typedef struct llama4_moe {
    uint32_t scope;
    ms_experts_module experts;
    ms_linear_module router;
    void *shared_expert;
} llama4_moe;

void *ms_llama4_mlp_new(ms_model *model, const ms_decoder *d, uint32_t parent, uint32_t number)
{
    (void)d;
    if (!ms_layer_is_sparse(model, number))
        return ms_gated_mlp_named(model, parent, "feed_forward", model->intermediate, false);
    llama4_moe *m = ms_arena_array(model->arena, llama4_moe, 1);
    if (!m)
        return NULL;
    m->scope = ms_scope_add(model->tape, parent, "feed_forward", MS_NONE);
    m->experts = ms_experts_new(model, m->scope, (ms_experts_form){.transposed = true});
    m->router =
        ms_linear_new(model, m->scope, "router", model->hidden, ms_expert_count(model), false);
    if (model->leaves.count > 0)
        model->leaves.items[model->leaves.count - 1].has_two_results = true;
    m->shared_expert =
        ms_gated_mlp_named(model, m->scope, "shared_expert", ms_expert_width(model), false);
    return m->shared_expert ? m : NULL;
}

/* The scores of all experts, [N, E], and the logits; retained until they are bound. */
static void route(ms_model *model, const llama4_moe *m, ms_tensor x, ms_tensor out[2])
{
    ms_tape *tape = model->tape;
    ms_tensor best[2];
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, x);
    ms_tensor *logits = ms_local(&f, ms_linear_call(model, &m->router, *hidden));
    ms_topk(tape, *logits, ms_experts_per_token(model), best);
    ms_tensor *values = ms_local(&f, best[0]), *indices = ms_local(&f, best[1]);
    ms_tensor none = ms_zeros_like(tape, *logits);
    ms_tensor *scores = ms_local(&f, ms_scatter_last_into(tape, none, *indices, *values));
    if (!ms_idle(tape)) {
        ms_dtype dtype = (ms_dtype)ms_info(tape, *scores)->dtype;
        ms_tensor gates = ms_sigmoid(tape, ms_to(tape, *scores, MS_DTYPE_F32));
        ms_assign(&f, scores, ms_to(tape, gates, dtype));
    }
    out[0] = tape->stopped ? 0 : *scores;
    out[1] = tape->stopped ? 0 : *logits;
    ms_retain(tape, out[0]);
    ms_retain(tape, out[1]);
    ms_locals_end(&f, NULL);
}

/* Rows of all experts, [E * N, H], through them. */
static ms_tensor run_experts(ms_model *model, const ms_experts_module *m, ms_tensor x)
{
    ms_tape *tape = model->tape;
    if (ms_idle(tape) || !x)
        return 0;
    ms_symbols *s = &tape->trace->symbols;
    const ms_shape rows = ms_info(tape, x)->shape;
    ms_dim each = ms_dim_number(s, rows.dims[0].value / ms_expert_count(model).value);
    uint32_t previous = ms_scope_enter(tape, m->scope);
    const ms_fetched fetched = ms_host_fetch_pair(model, m->gate_up, m->down);
    ms_tensor halves[2];
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, x);
    ms_assign(&f, hidden,
              ms_view(tape, *hidden, MS_SHAPE(ms_expert_count(model), each, model->hidden)));
    ms_tensor *gate_up = ms_local(&f, ms_bmm(tape, *hidden, m->gate_up));
    ms_split(tape, *gate_up, 2, ms_expert_width(model), 2, halves);
    ms_tensor *gate = ms_local(&f, halves[0]), *up = ms_local(&f, halves[1]);
    ms_tensor gated = ms_mul(tape, *up, ms_activation_call(model, *gate));
    ms_tensor *next = ms_local(&f, ms_bmm(tape, gated, m->down));
    ms_assign(&f, next, ms_idle(tape) ? 0 : ms_view(tape, *next, rows));
    ms_tensor result = ms_locals_end(&f, next);
    ms_host_drop(model, &fetched);
    tape->scope = previous;
    return result;
}

/* out += the experts' results, summed */
static ms_tensor add_routed(ms_model *model, ms_tensor out, ms_tensor routed)
{
    ms_tape *tape = model->tape;
    if (ms_idle(tape) || !out || !routed)
        return 0;
    ms_shape by_expert =
        MS_SHAPE(ms_expert_count(model), ms_info(tape, out)->shape.dims[0], model->hidden);
    ms_tensor sum = ms_sum_dim(tape, ms_reshape(tape, routed, by_expert), 0, false);
    return ms_add_(tape, out, sum);
}

static ms_tensor run_sparse(ms_model *model, const llama4_moe *m, ms_tensor x)
{
    ms_tape *tape = model->tape;
    ms_decoder *d = model->modules;
    uint32_t previous = ms_scope_enter(tape, m->scope);
    ms_tensor routing[2];
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, x);
    ms_assign(&f, hidden, ms_as_tokens(model, *hidden));
    route(model, m, *hidden, routing);
    ms_tensor *scores = ms_local(&f, routing[0]);
    ms_release(tape, routing[0]);
    ms_tensor *routed = ms_local(&f, ms_repeat_rows(tape, *hidden, ms_expert_count(model)));
    ms_dim one = {.value = 1};
    ms_tensor turned = ms_transpose(tape, *scores, 0, 1);
    if (!ms_idle(tape) && turned) {
        ms_dim rows = ms_info(tape, *routed)->shape.dims[0];
        ms_assign(&f, routed, ms_mul(tape, *routed, ms_reshape(tape, turned, MS_SHAPE(rows, one))));
    }
    ms_tensor *results = ms_local(&f, run_experts(model, &m->experts, *routed));
    ms_tensor *out = ms_local(&f, ms_gated_mlp_call(model, m->shared_expert, *hidden));
    ms_assign(&f, out, add_routed(model, *out, *results));
    d->second_result = routing[1];
    ms_tensor result = ms_locals_end(&f, out);
    tape->scope = previous;
    return result;
}

ms_tensor ms_llama4_mlp(ms_model *model, const ms_decoder_layer *layer, ms_tensor x)
{
    if (!ms_layer_is_sparse(model, layer->number))
        return ms_gated_mlp(model, layer, x);
    return ms_idle(model->tape) || !x ? 0 : run_sparse(model, layer->mlp, x);
}
