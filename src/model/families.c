/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The families, one row each, as `memscope models` lists them.
 */
#include "model/families.h"

#include "model/family_keys.h"

/* clang-format off */
static const ms_family *const families[] = {
    &ms_family_llama,
    &ms_family_mistral,
    &ms_family_ministral3,
    &ms_family_qwen2,
    &ms_family_qwen3,
    &ms_family_gpt2,
    &ms_family_phi3,
    &ms_family_glm4,
    &ms_family_gpt_neox,
    &ms_family_glm,
    &ms_family_seed_oss,
    &ms_family_starcoder2,
    &ms_family_granite,
    &ms_family_granitemoehybrid,
    &ms_family_smollm3,
    &ms_family_olmo2,
    &ms_family_olmo3,
    &ms_family_exaone4,
    &ms_family_ernie4_5,
    &ms_family_arcee,
    &ms_family_lfm2,
    &ms_family_hunyuan_v1_dense,
    &ms_family_phi,
    &ms_family_stablelm,
    &ms_family_cohere,
    &ms_family_cohere2,
    &ms_family_gemma,
    &ms_family_gemma2,
    &ms_family_gemma3_text,
    &ms_family_gemma3,
    &ms_family_mixtral,
    &ms_family_qwen3_moe,
    &ms_family_qwen2_moe,
    &ms_family_qwen3_next,
    &ms_family_qwen3_5_text,
    &ms_family_qwen3_5,
    &ms_family_qwen3_5_moe_text,
    &ms_family_qwen3_5_moe,
    &ms_family_qwen3_vl,
    &ms_family_qwen3_vl_moe,
    &ms_family_deepseek_v2,
    &ms_family_deepseek_v3,
    &ms_family_glm4_moe,
    &ms_family_olmoe,
    &ms_family_minimax_m2,
    &ms_family_dots1,
    &ms_family_gpt_oss,
    &ms_family_opt,
    &ms_family_falcon,
    &ms_family_refined_web_model,
    &ms_family_refined_web,
    &ms_family_bert,
    &ms_family_vit,
};
/* clang-format on */

const ms_family *const *ms_families(size_t *count)
{
    *count = sizeof families / sizeof *families;
    return families;
}

ms_status ms_check_heads_divide(const ms_model_config *config, ms_error *err)
{
    if (config->hidden_size % config->num_heads == 0)
        return MS_OK;
    snprintf(err->pointer, sizeof err->pointer, "/num_attention_heads");
    return ms_fail(err, MS_ERR_CONFIG, "%" PRIu64 " does not divide hidden_size %" PRIu64,
                   config->num_heads, config->hidden_size);
}

ms_status ms_check_experts(const ms_model_config *config, ms_error *err)
{
    if (config->experts_per_token <= config->num_experts)
        return MS_OK;
    snprintf(err->pointer, sizeof err->pointer, "/num_experts_per_tok");
    return ms_fail(err, MS_ERR_CONFIG, "%" PRIu64 " experts per token, but there are %" PRIu64,
                   config->experts_per_token, config->num_experts);
}

ms_status ms_check_quiet_experts(const ms_model_config *config, ms_error *err)
{
    if (config->router_jitter <= 0)
        return ms_check_experts(config, err);
    snprintf(err->pointer, sizeof err->pointer, "/router_jitter_noise");
    return ms_fail(err, MS_ERR_CONFIG, "noise on the router's input is not modelled");
}

uint8_t ms_sparse_everywhere(const ms_model_config *config, uint64_t layer)
{
    (void)config, (void)layer;
    return MS_LAYER_SPARSE;
}

uint8_t ms_slides_from_max_window(const ms_model_config *config, uint64_t layer)
{
    return layer >= config->max_window_layers ? MS_LAYER_SLIDES : 0;
}
