/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * DeepSeek-V2, V3 and V3.2: families/deepseek_*.family have their keys, modules and calls.
 */
#include "model/family/family_keys.h"
#include "model/family/family_list.h"
#include "model/mixture/expert_groups.h"

static ms_status check_latent(const ms_model_config *config, ms_error *err)
{
    if (config->num_kv_heads != config->num_heads) {
        snprintf(err->pointer, sizeof err->pointer, "/num_key_value_heads");
        return ms_fail(err, MS_ERR_CONFIG,
                       "latent attention needs as many key heads as query heads");
    }
    return MS_OK;
}

/* ---- DeepSeek-V2 ---- */

static ms_status check_v2(const ms_model_config *config, ms_error *err)
{
    ms_status status = ms_check_heads_divide(config, err);
    if (status == MS_OK)
        status = check_latent(config, err);
    return status == MS_OK ? ms_check_groups(config, config->limits_groups, err) : status;
}

static const ms_family_facts v2_facts = {
    .compared = MS_WITH_ZERO3 | MS_WITH_ZERO3_EXPERTS | MS_WITH_CHUNKED_LOSS,
    .peft = {.usual_lora = "q_proj+q_b_proj+kv_b_proj", .exchanged = ms_experts_of_qwen2_moe},
    .liger = {.kernels = MS_LIGER_RMS_NORM | MS_LIGER_SWIGLU | MS_LIGER_LOSS,
              .norms = MS_LIGER_IS_LAYER | MS_LIGER_IS_LAST | MS_LIGER_IS_HEADS,
              .logits_share = 1},
    .llama_cpp = "deepseek2",
    .vllm = &(const ms_vllm_arch){.norms = 2,
                                  .mlp_rows = 4,
                                  .tie = MS_VLLM_TIE_DROPS,
                                  .table = MS_VLLM_TABLE_WIDE,
                                  .experts = MS_VLLM_EXPERTS_SOME,
                                  .is_latent = true,
                                  .has_v2_experts = true},
    .has_code_of_its_own = true,
};

const ms_family ms_family_deepseek_v2 = {.model_type = "deepseek_v2",
                                         .facts = &v2_facts,
                                         .classes = {{"DeepseekV2ForCausalLM", MS_HEAD_CAUSAL_LM}},
                                         .check = check_v2,
                                         .takes_cache = true,
                                         .text_name = "deepseek_v2"};

/* ---- DeepSeek-V3 ---- */

static ms_status check_v3(const ms_model_config *config, ms_error *err)
{
    ms_status status = check_latent(config, err);
    return status == MS_OK ? ms_check_groups(config, 2, err) : status;
}

static const ms_family_facts v3_facts = {
    .compared = MS_WITH_ZERO3 | MS_WITH_ZERO3_EXPERTS | MS_WITH_CHUNKED_LOSS,
    .peft = {.usual_lora = "q_proj+q_b_proj+kv_b_proj", .exchanged = ms_experts_of_qwen2_moe},
    .liger = {.kernels = MS_LIGER_RMS_NORM | MS_LIGER_SWIGLU | MS_LIGER_LOSS,
              .norms = MS_LIGER_IS_LAYER | MS_LIGER_IS_LAST | MS_LIGER_IS_HEADS,
              .logits_share = 1},
    .vllm = &(const ms_vllm_arch){.norms = 2,
                                  .mlp_rows = 4,
                                  .tie = MS_VLLM_TIE_DROPS,
                                  .table = MS_VLLM_TABLE_WIDE,
                                  .experts = MS_VLLM_EXPERTS_SOME,
                                  .is_latent = true,
                                  .has_router_bias = true},
    .has_code_of_its_own = true,
};

const ms_family ms_family_deepseek_v3 = {.model_type = "deepseek_v3",
                                         .facts = &v3_facts,
                                         .classes = {{"DeepseekV3ForCausalLM", MS_HEAD_CAUSAL_LM}},
                                         .check = check_v3,
                                         .takes_cache = true,
                                         .text_name = "deepseek_v3"};

/* ---- DeepSeek-V3.2 ---- */

static ms_status check_v32(const ms_model_config *config, ms_error *err)
{
    ms_status status = check_latent(config, err);
    if (status == MS_OK && config->index_dim <= config->head_dim) {
        snprintf(err->pointer, sizeof err->pointer, "/index_head_dim");
        return ms_fail(err, MS_ERR_CONFIG, "%" PRIu64 " is not more than qk_rope_head_dim %" PRIu64,
                       config->index_dim, config->head_dim);
    }
    return status == MS_OK ? ms_check_groups(config, 2, err) : status;
}

static const ms_family_facts v32_facts = {
    .peft = {.exchanged = ms_experts_of_qwen2_moe,
             .refused = {{"wq_b", "no gradient comes to the indexer", "q_a_proj"},
                         {"wk", "no gradient comes to the indexer", "q_a_proj"},
                         {"weights_proj", "no gradient comes to the indexer", "q_a_proj"}}},
};

const ms_family ms_family_deepseek_v32 = {
    .model_type = "deepseek_v32",
    .facts = &v32_facts,
    .classes = {{"DeepseekV32ForCausalLM", MS_HEAD_CAUSAL_LM}},
    .check = check_v32,
    .always_masks = true,
    .unpredicted = MS_UNPREDICTED_DOCUMENTS | MS_UNPREDICTED_HOST_PARAMETERS,
    .text_name = "deepseek_v32"};
