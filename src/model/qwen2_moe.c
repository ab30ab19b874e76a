/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Qwen2 with experts in the place of most MLPs, and one more, behind a gate, that sees every token.
 */
#include "model/experts.h"
#include "model/families.h"
#include "model/family_keys.h"
#include "ops/ops.h"

/* clang-format off */
static const ms_key keys[] = {
    COUNT("vocab_size", vocab_size, 151936, MAX_VOCAB),
    COUNT("hidden_size", hidden_size, 2048, MAX_HIDDEN),
    COUNT("intermediate_size", intermediate_size, 5632, MAX_INTERMEDIATE),
    COUNT("num_hidden_layers", num_layers, 24, MAX_LAYERS),
    COUNT("num_attention_heads", num_heads, 16, MAX_HEADS),
    COUNT("num_key_value_heads", num_kv_heads, 16, MAX_HEADS),
    HEAD_DIM_FROM_HIDDEN,
    COUNT("max_position_embeddings", max_positions, 32768, MAX_POSITIONS),
    EXPERTS("num_experts", NULL, 60),
    EXPERTS_PER_TOKEN(4),
    COUNT("moe_intermediate_size", expert_size, 1408, MAX_INTERMEDIATE),
    COUNT("shared_expert_intermediate_size", shared_expert_size, 5632, MAX_INTERMEDIATE),
    COUNT("decoder_sparse_step", sparse_step, 1, MAX_LAYERS),
    DENSE_LAYERS,
    BOOL("norm_topk_prob", normalises_experts, false),
    ROUTER_LOGITS,
    ACTIVATION("hidden_act", MS_ACTIVATION_SILU),
    BOOL("tie_word_embeddings", tie_word_embeddings, false),
    BOOL("qkv_bias", attention_bias, true),
    QWEN_WINDOWS,
    FRACTION("attention_dropout", attention_dropout, 0),
    PAD_TOKEN,
    DECODER_IGNORED, IGNORED("router_aux_loss_coef"),
};
/* clang-format on */

typedef struct shared_mlp {
    uint32_t scope;
    ms_router_module router;
    ms_experts_module experts;
    void *shared_expert;
    ms_linear_module shared_gate;
} shared_mlp;

static void *shared_mlp_new(ms_model *model, uint32_t parent)
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
static ms_tensor run_shared_mlp(ms_model *model, const shared_mlp *m, ms_tensor hidden)
{
    ms_tape *tape = model->tape;
    if (ms_idle(tape) || !hidden)
        return 0;
    const ms_router_form form = {.normalises = model->config->normalises_experts,
                                 .casts_back = true};
    const ms_shape shape = ms_info(tape, hidden)->shape;
    uint32_t previous = ms_scope_enter(tape, m->scope);
    ms_routing routing;
    ms_frame f = ms_frame_begin(tape);
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
    ms_tensor result = ms_frame_end(&f, out);
    tape->scope = previous;
    return result;
}

static void *build_mlp(ms_model *model, const ms_decoder *d, uint32_t parent, uint32_t number)
{
    return ms_layer_is_sparse(model, number) ? shared_mlp_new(model, parent)
                                             : ms_gated_mlp_new(model, d, parent, number);
}

static ms_tensor mlp(ms_model *model, const ms_decoder_layer *layer, ms_tensor hidden)
{
    return ms_layer_is_sparse(model, layer->number) ? run_shared_mlp(model, layer->mlp, hidden)
                                                    : ms_gated_mlp(model, layer, hidden);
}

static bool build(ms_model *model)
{
    return ms_decoder_build(model, (ms_decoder_style){.qkv_bias = model->config->attention_bias,
                                                      .build_mlp = build_mlp,
                                                      .mlp = mlp,
                                                      .add_loss = ms_router_loss_add,
                                                      .drop = ms_router_logits_drop,
                                                      .mask_arguments = true,
                                                      .both_masks = true});
}

/* Of the layers below max_window_layers every second one slides, from the first on. */
static uint8_t layer_kind(const ms_model_config *config, uint64_t layer)
{
    uint8_t kind = 0;
    if (layer % 2 == 0 && layer < config->max_window_layers)
        kind |= MS_LAYER_SLIDES;
    if ((layer + 1) % config->sparse_step == 0)
        kind |= MS_LAYER_SPARSE;
    return kind;
}

static const ms_model_program program = {build, ms_decoder_forward};

const ms_family ms_family_qwen2_moe = {.model_type = "qwen2_moe",
                                       .classes = {{"Qwen2MoeForCausalLM", MS_HEAD_CAUSAL_LM}},
                                       .keys = keys,
                                       .key_count = sizeof keys / sizeof *keys,
                                       .check = ms_check_experts,
                                       .layer_kind = layer_kind,
                                       .has_zero_window = true,
                                       .program = &program};
