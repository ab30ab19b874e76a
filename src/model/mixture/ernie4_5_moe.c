/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * ERNIE 4.5 with experts: ERNIE's attention; a router in fp32, whose own weights stay in fp32 and
 * whose bias, for the choice alone, is not trained.
 */
#include <inttypes.h>
#include <stdio.h>

#include "input/config/model/family.h"
#include "model/decoder/decoder_mlp.h"
#include "model/decoder/experts.h"
#include "model/decoder/router_loss.h"
#include "model/family/family_keys.h"
#include "model/family/family_list.h"
#include "torch/ops/moe/routing.h"
#include "torch/ops/ops.h"

/* clang-format off */
static const ms_key keys[] = {
    COUNT("vocab_size", vocab_size, 103424, MAX_VOCAB),
    COUNT("hidden_size", hidden_size, 2560, MAX_HIDDEN),
    COUNT("intermediate_size", intermediate_size, 12288, MAX_INTERMEDIATE),
    COUNT("num_hidden_layers", num_layers, 28, MAX_LAYERS),
    COUNT("num_attention_heads", num_heads, 20, MAX_HEADS),
    KV_HEADS_OR(4),
    HEAD_DIM_FROM_HIDDEN,
    COUNT("max_position_embeddings", max_positions, 131072, MAX_POSITIONS),
    EXPERTS("moe_num_experts", "num_experts", 64),
    { .name = "moe_k", .aliases = {"num_experts_per_tok"}, .kind = MS_KEY_COUNT,
      .offset = MEMBER(experts_per_token), .default_value = 6, .minimum = 1,
      .maximum = MAX_EXPERTS },
    COUNT("moe_intermediate_size", expert_size, 1536, MAX_INTERMEDIATE),
    { .name = "moe_num_shared_experts", .kind = MS_KEY_COUNT, .offset = MEMBER(shared_experts),
      .default_value = 2, .maximum = MAX_EXPERTS },
    { .name = "moe_layer_start_index", .kind = MS_KEY_COUNT, .offset = MEMBER(first_sparse_layer),
      .default_value = 1, .maximum = MAX_LAYERS },
    { .name = "moe_layer_end_index", .kind = MS_KEY_COUNT, .offset = MEMBER(last_sparse_layer),
      .default_value = -1, .maximum = MAX_LAYERS, .may_be_minus_one = true },
    COUNT("moe_layer_interval", sparse_step, 1, MAX_LAYERS),
    ROUTER_LOGITS,
    ACTIVATION("hidden_act", MS_ACTIVATION_SILU),
    BOOL("tie_word_embeddings", tie_word_embeddings, true),
    BOOL("use_bias", mlp_bias, false),
    PAD_TOKEN_OR(0),
    DECODER_IGNORED, IGNORED("moe_norm_min"), IGNORED("router_aux_loss_coef"),
    IGNORED("moe_capacity"), IGNORED("moe_gate"), IGNORED("moe_use_aux_free"),
    FIXED("use_mtp", false),
};
/* clang-format on */

/* ---- modules ---- */

typedef struct router_module {
    uint32_t scope;
    ms_tensor weight, bias; /* [E, H] and [1, E], in fp32 */
} router_module;

typedef struct ernie_moe {
    uint32_t scope;
    router_module router;
    ms_experts_module experts;
    void *shared_experts; /* NULL: none */
} ernie_moe;

static router_module router_new(ms_model *model, uint32_t parent)
{
    ms_tape *tape = model->tape;
    router_module r = {.scope = ms_scope_add(tape, parent, "gate", MS_NONE)};
    ms_dim count = ms_expert_count(model), one = ms_dim_number(&tape->trace->symbols, 1);
    r.weight =
        ms_parameter_of(model, r.scope, "weight", MS_SHAPE(count, model->hidden), MS_DTYPE_F32);
    uint32_t statics = ms_scope_add(tape, r.scope, "moe_statics", MS_NONE);
    r.bias = ms_frozen_parameter_of(model, statics, "e_score_correction_bias", MS_SHAPE(one, count),
                                    MS_DTYPE_F32);
    return r;
}

static void *build_mlp(ms_model *model, const ms_decoder *d, uint32_t parent, uint32_t number)
{
    (void)d;
    bool bias = model->config->mlp_bias;
    uint64_t shared = model->config->shared_experts;
    ms_symbols *s = &model->tape->trace->symbols;
    if (!ms_layer_is_sparse(model, number))
        return ms_gated_mlp_named(model, parent, "mlp", model->intermediate, bias);
    ernie_moe *m = ms_arena_array(model->arena, ernie_moe, 1);
    if (!m)
        return NULL;
    m->scope = ms_scope_add(model->tape, parent, "mlp", MS_NONE);
    m->router = router_new(model, m->scope);
    m->experts = ms_experts_new(model, m->scope, (ms_experts_form){0});
    if (shared == 0)
        return m;
    ms_dim width = ms_dim_mul(s, ms_dim_number(s, shared), ms_expert_width(model));
    m->shared_experts = ms_gated_mlp_named(model, m->scope, "shared_experts", width, bias);
    return m->shared_experts ? m : NULL;
}

/* ---- the router ---- */

/* linear(x.float(), weight.float()), outside autocast */
static ms_tensor logits_of(ms_model *model, const router_module *router, ms_tensor x)
{
    ms_tape *tape = model->tape;
    if (ms_idle(tape) || !x)
        return 0;
    ms_tensor input = ms_to(tape, x, MS_DTYPE_F32);
    ms_tensor weight = ms_to(tape, router->weight, MS_DTYPE_F32);
    return ms_linear(tape, input, weight, 0);
}

/* The best experts by probability and bias. No gradient comes here. */
static ms_tensor choose(ms_model *model, const router_module *router, ms_locals *f,
                        ms_tensor probabilities)
{
    ms_tape *tape = model->tape;
    bool grad_enabled = tape->grad_enabled;
    tape->grad_enabled = false;
    ms_tensor biased = ms_idle(tape) ? 0 : ms_add(tape, probabilities, router->bias);
    ms_tensor best = ms_best_experts(model, f, biased);
    tape->grad_enabled = grad_enabled;
    return best;
}

static void route(ms_model *model, const router_module *router, ms_tensor hidden, ms_routing *out)
{
    ms_tape *tape = model->tape;
    uint32_t previous = ms_scope_enter(tape, router->scope);
    bool had_autocast = tape->has_autocast;
    *out = (ms_routing){0};
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *input = ms_argument(&f, hidden);
    tape->has_autocast = false;
    ms_tensor *logits = ms_local(&f, logits_of(model, router, *input));
    ms_tensor *weights =
        ms_local(&f, ms_idle(tape) ? 0 : ms_softmax_last(tape, *logits, MS_DTYPE_F32));
    ms_tensor *experts = ms_local(&f, choose(model, router, &f, *weights));
    ms_assign(&f, weights, ms_gather_last(tape, *weights, *experts));
    ms_tensor sum = ms_clamp(tape, ms_sum_dim(tape, *weights, 1, true), 1);
    ms_assign(&f, weights, ms_div_by(tape, *weights, sum));
    tape->has_autocast = had_autocast;
    if (!ms_idle(tape))
        ms_assign(&f, weights, ms_to(tape, *weights, (ms_dtype)ms_info(tape, *input)->dtype));
    ms_routing_keep(model, *logits, *weights, *experts, out);
    ms_locals_end(&f, NULL);
    tape->scope = previous;
}

/* ---- the block ---- */

static ms_tensor mlp(ms_model *model, const ms_decoder_layer *layer, ms_tensor x)
{
    ms_tape *tape = model->tape;
    const ernie_moe *m = layer->mlp;
    if (!ms_layer_is_sparse(model, layer->number))
        return ms_gated_mlp(model, layer, x);
    if (ms_idle(tape) || !x)
        return 0;
    const ms_shape shape = ms_info(tape, x)->shape;
    uint32_t previous = ms_scope_enter(tape, m->scope);
    ms_routing routing;
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, x);
    ms_assign(&f, hidden, ms_as_tokens(model, *hidden));
    ms_tensor *logits = ms_local(&f, 0); /* its name had a value before: it goes first */
    ms_tensor *shared =
        ms_local(&f, m->shared_experts ? ms_gated_mlp_call(model, m->shared_experts, *hidden) : 0);
    route(model, &m->router, *hidden, &routing);
    ms_assign(&f, logits, routing.logits);
    ms_release(tape, routing.logits);
    routing.logits = 0;
    ms_routing_bind(&f, &routing);
    ms_tensor *out = ms_local(&f, ms_experts_call(model, &m->experts, *hidden, &routing));
    if (m->shared_experts)
        ms_assign(&f, out, ms_add(tape, *out, *shared));
    ms_assign(&f, out, ms_reshape(tape, *out, shape));
    ms_tensor result = ms_locals_end(&f, out);
    tape->scope = previous;
    return result;
}

/* ---- the family ---- */

static bool build(ms_model *model)
{
    bool bias = model->config->mlp_bias;
    return ms_decoder_build(model, (ms_decoder_style){.rotary = ms_rotary_repeated_pairs_fp32,
                                                      .fp32_rotary = true,
                                                      .qkv_bias = bias,
                                                      .output_bias = bias,
                                                      .mlp_bias = bias,
                                                      .head_bias = bias,
                                                      .build_mlp = build_mlp,
                                                      .mlp = mlp,
                                                      .add_loss = ms_router_loss_add,
                                                      .drop = ms_router_logits_drop});
}

static ms_status check(const ms_model_config *config, ms_error *err)
{
    if (config->experts_per_token <= config->num_experts)
        return MS_OK;
    snprintf(err->pointer, sizeof err->pointer, "/moe_k");
    return ms_fail(err, MS_ERR_CONFIG, "%" PRIu64 " experts per token, but there are %" PRIu64,
                   config->experts_per_token, config->num_experts);
}

static uint8_t layer_kind(const ms_model_config *config, uint64_t layer)
{
    bool is_sparse = (layer + 1) % config->sparse_step == 0 &&
                     layer >= config->first_sparse_layer && layer <= config->last_sparse_layer;
    return is_sparse ? MS_LAYER_SPARSE : 0;
}

static const ms_model_program program = {build, ms_decoder_forward};

static const ms_family_facts facts = {
    .compared = MS_WITH_CHUNKED_LOSS,
    .peft = {.exchanged = ms_experts_of_qwen2_moe},
};

const ms_family ms_family_ernie4_5_moe = {
    .model_type = "ernie4_5_moe",
    .facts = &facts,
    .classes = {{"Ernie4_5_MoeForCausalLM", MS_HEAD_CAUSAL_LM}},
    .keys = keys,
    .key_count = sizeof keys / sizeof *keys,
    .check = check,
    .layer_kind = layer_kind,
    .unpredicted = MS_UNPREDICTED_HOST_PARAMETERS | MS_UNPREDICTED_SHARDS,
    .takes_cache = true,
    .program = &program};
