/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Qwen3 with most MLPs replaced by experts.
 */
#include "model/decoder/decoder_mlp.h"
#include "model/decoder/experts.h"
#include "model/decoder/router_loss.h"
#include "model/family/family_list.h"
#include "model/family/family_keys.h"

/* clang-format off */
static const ms_key keys[] = {
    COUNT("vocab_size", vocab_size, 151936, MAX_VOCAB),
    COUNT("hidden_size", hidden_size, 2048, MAX_HIDDEN),
    COUNT("intermediate_size", intermediate_size, 6144, MAX_INTERMEDIATE),
    COUNT("num_hidden_layers", num_layers, 24, MAX_LAYERS),
    COUNT("num_attention_heads", num_heads, 32, MAX_HEADS),
    COUNT("num_key_value_heads", num_kv_heads, 4, MAX_HEADS),
    HEAD_DIM_FROM_HIDDEN,
    COUNT("max_position_embeddings", max_positions, 32768, MAX_POSITIONS),
    EXPERTS("num_experts", "num_local_experts", 128),
    EXPERTS_PER_TOKEN(8),
    COUNT("moe_intermediate_size", expert_size, 768, MAX_INTERMEDIATE),
    COUNT("decoder_sparse_step", sparse_step, 1, MAX_LAYERS),
    DENSE_LAYERS,
    BOOL("norm_topk_prob", normalises_experts, false),
    ROUTER_LOGITS,
    ACTIVATION("hidden_act", MS_ACTIVATION_SILU),
    BOOL("tie_word_embeddings", tie_word_embeddings, false),
    BOOL("attention_bias", attention_bias, false),
    BOOL("use_sliding_window", use_sliding_window, false),
    SLIDING_WINDOW,
    FRACTION("attention_dropout", attention_dropout, 0),
    PAD_TOKEN,
    DECODER_IGNORED, IGNORED("max_window_layers"), IGNORED("router_aux_loss_coef"),
};
/* clang-format on */

static void *build_mlp(ms_model *model, const ms_decoder *d, uint32_t parent, uint32_t number)
{
    return ms_layer_is_sparse(model, number) ? ms_sparse_mlp_new(model, parent, MS_EXPERTS_FIRST)
                                             : ms_gated_mlp_new(model, d, parent, number);
}

static ms_tensor mlp(ms_model *model, const ms_decoder_layer *layer, ms_tensor hidden)
{
    const ms_router_form form = {.normalises = model->config->normalises_experts,
                                 .casts_back = true};
    return ms_layer_is_sparse(model, layer->number) ? ms_sparse_mlp(model, layer->mlp, form, hidden)
                                                    : ms_gated_mlp(model, layer, hidden);
}

static bool build(ms_model *model)
{
    return ms_decoder_build(model, (ms_decoder_style){.qkv_bias = model->config->attention_bias,
                                                      .output_bias = model->config->attention_bias,
                                                      .build_mlp = build_mlp,
                                                      .mlp = mlp,
                                                      .add_loss = ms_router_loss_add,
                                                      .drop = ms_router_logits_drop,
                                                      .head_norms = MS_HEAD_NORMS_AT_ONCE,
                                                      .position_ids_first = true});
}

static uint8_t layer_kind(const ms_model_config *config, uint64_t layer)
{
    uint8_t kind = MS_LAYER_SLIDES;
    return (layer + 1) % config->sparse_step == 0 ? kind | MS_LAYER_SPARSE : kind;
}

static const ms_model_program program = {build, ms_decoder_forward};

static const ms_family_facts facts = {
    .compared = MS_WITH_ZERO3 | MS_WITH_ZERO3_EXPERTS | MS_WITH_ACCELERATE_UNITS |
                MS_WITH_BROADCAST | MS_WITH_CHUNKED_LOSS,
    .has_leaf_experts = true,
    .has_head_norms = true,
    .peft = {.exchanged = ms_experts_of_qwen2_moe},
    .liger = {.kernels = MS_LIGER_ALL,
              .norms = MS_LIGER_IS_LAYER | MS_LIGER_IS_LAST | MS_LIGER_IS_HEADS,
              .logits_share = 1},
    .llama_cpp = "qwen3moe",
    .vllm = &(const ms_vllm_arch){.has_linear_router = true,
                                  .qkv_bias = MS_VLLM_BIAS_ASKED,
                                  .head_norms = MS_VLLM_HEAD_NORMS_LAST,
                                  .norms = 2,
                                  .mlp_rows = 4,
                                  .tie = MS_VLLM_TIE_DROPS,
                                  .experts = MS_VLLM_EXPERTS_SOME},
};

const ms_family ms_family_qwen3_moe = {.model_type = "qwen3_moe",
                                       .facts = &facts,
                                       .classes = {{"Qwen3MoeForCausalLM", MS_HEAD_CAUSAL_LM}},
                                       .keys = keys,
                                       .key_count = sizeof keys / sizeof *keys,
                                       .check = ms_check_experts,
                                       .layer_kind = layer_kind,
                                       .takes_cache = true,
                                       .program = &program};
