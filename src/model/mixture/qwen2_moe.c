/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Qwen2 with most MLPs replaced by experts, plus a gated shared expert for every token.
 */
#include "model/decoder/decoder_mlp.h"
#include "model/decoder/experts.h"
#include "model/decoder/router_loss.h"
#include "model/decoder/shared_expert.h"
#include "model/family/family_list.h"
#include "model/family/family_keys.h"

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

static void *build_mlp(ms_model *model, const ms_decoder *d, uint32_t parent, uint32_t number)
{
    return ms_layer_is_sparse(model, number) ? ms_shared_mlp_new(model, parent)
                                             : ms_gated_mlp_new(model, d, parent, number);
}

static ms_tensor mlp(ms_model *model, const ms_decoder_layer *layer, ms_tensor hidden)
{
    return ms_layer_is_sparse(model, layer->number) ? ms_shared_mlp(model, layer->mlp, hidden)
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

static const ms_family_facts facts = {
    .compared = MS_WITH_ZERO3 | MS_WITH_ZERO3_EXPERTS | MS_WITH_CHUNKED_LOSS,
    .has_leaf_experts = true,
    .vllm = &(const ms_vllm_arch){.qkv_bias = MS_VLLM_BIAS_ALWAYS,
                                  .norms = 2,
                                  .mlp_rows = 4,
                                  .tie = MS_VLLM_TIE_DROPS,
                                  .experts = MS_VLLM_EXPERTS_SOME,
                                  .has_linear_router = true,
                                  .has_shared_gate = true,
                                  .has_v2_experts = true},
};

const ms_family ms_family_qwen2_moe = {.model_type = "qwen2_moe",
                                       .facts = &facts,
                                       .classes = {{"Qwen2MoeForCausalLM", MS_HEAD_CAUSAL_LM}},
                                       .keys = keys,
                                       .key_count = sizeof keys / sizeof *keys,
                                       .check = ms_check_experts,
                                       .layer_kind = layer_kind,
                                       .has_zero_window = true,
                                       .takes_cache = true,
                                       .program = &program};
