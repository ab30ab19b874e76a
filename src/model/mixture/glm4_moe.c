/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * GLM-4.5 and 4.6: part of each head rotated by halves, and DeepSeek-V3's experts.
 */
#include "model/decoder/router_loss.h"
#include "model/mixture/deepseek.h"
#include "model/family/family_list.h"
#include "model/family/family_keys.h"
#include "model/mixture/deepseek_moe.h"

/* clang-format off */
static const ms_key keys[] = {
    COUNT("vocab_size", vocab_size, 151552, MAX_VOCAB),
    COUNT("hidden_size", hidden_size, 4096, MAX_HIDDEN),
    COUNT("intermediate_size", intermediate_size, 10944, MAX_INTERMEDIATE),
    COUNT("num_hidden_layers", num_layers, 46, MAX_LAYERS),
    COUNT("num_attention_heads", num_heads, 96, MAX_HEADS),
    COUNT("num_key_value_heads", num_kv_heads, 8, MAX_HEADS),
    HEAD_DIM_FROM_HIDDEN,
    COUNT("max_position_embeddings", max_positions, 131072, MAX_POSITIONS),
    ROTARY_SHARE("partial_rotary_factor", 0.5),
    EXPERTS("n_routed_experts", "num_local_experts", 128),
    EXPERTS_PER_TOKEN(8),
    COUNT("n_shared_experts", shared_experts, 1, MAX_EXPERTS),
    COUNT("moe_intermediate_size", expert_size, 1408, MAX_INTERMEDIATE),
    FIRST_SPARSE_LAYER(1),
    COUNT("n_group", expert_groups, 1, MAX_EXPERTS),
    COUNT("topk_group", chosen_groups, 1, MAX_EXPERTS),
    BOOL("norm_topk_prob", normalises_experts, true),
    PREDICTION_LAYERS("num_nextn_predict_layers", "num_mtp_layers"),
    ROUTER_LOGITS,
    ACTIVATION("hidden_act", MS_ACTIVATION_SILU),
    BOOL("tie_word_embeddings", tie_word_embeddings, false),
    BOOL("attention_bias", attention_bias, false),
    BOOL("use_qk_norm", head_norms, false),
    FRACTION("attention_dropout", attention_dropout, 0),
    PAD_TOKEN,
    DECODER_IGNORED, IGNORED("routed_scaling_factor"),
};
/* clang-format on */

static const ms_deepseek_form form = {
    .route = ms_route_by_sigmoid, .has_bias = true, .bias_in_fp32 = true};

static void *build_mlp(ms_model *model, const ms_decoder *d, uint32_t parent, uint32_t number)
{
    (void)d;
    return ms_deepseek_mlp_new(model, form, parent, number);
}

static bool build(ms_model *model)
{
    ms_head_norms norms = model->config->head_norms ? MS_HEAD_NORMS_BETWEEN : MS_HEAD_NORMS_NONE;
    return ms_decoder_build(model, (ms_decoder_style){.qkv_bias = model->config->attention_bias,
                                                      .head_norms = norms,
                                                      .rotary = ms_rotary_part,
                                                      .build_mlp = build_mlp,
                                                      .mlp = ms_deepseek_mlp,
                                                      .drop = ms_router_logits_drop});
}

static ms_status check(const ms_model_config *config, ms_error *err)
{
    return ms_check_groups(config, 2, err);
}

static const ms_model_program program = {build, ms_decoder_forward};

static const ms_family_facts facts = {
    .compared = MS_WITH_ZERO3 | MS_WITH_ZERO3_EXPERTS | MS_WITH_CHUNKED_LOSS,
    .peft = {.exchanged = ms_experts_of_qwen2_moe},
};

const ms_family ms_family_glm4_moe = {.model_type = "glm4_moe",
                                      .facts = &facts,
                                      .classes = {{"Glm4MoeForCausalLM", MS_HEAD_CAUSAL_LM}},
                                      .keys = keys,
                                      .key_count = sizeof keys / sizeof *keys,
                                      .check = check,
                                      .layer_kind = ms_sparse_from_first,
                                      .takes_cache = true,
                                      .program = &program};
