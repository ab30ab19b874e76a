/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * DeepSeek-V2: families/deepseek_v2.family has its keys, modules and calls.
 */
#include "model/family/family_list.h"
#include "model/family/family_keys.h"
#include "model/mixture/deepseek_moe.h"

static ms_status check(const ms_model_config *config, ms_error *err)
{
    ms_status status = ms_check_heads_divide(config, err);
    if (status == MS_OK)
        status = ms_check_latent(config, err);
    return status == MS_OK ? ms_check_groups(config, config->limits_groups, err) : status;
}

static const ms_family_facts facts = {
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
                                         .facts = &facts,
                                         .classes = {{"DeepseekV2ForCausalLM", MS_HEAD_CAUSAL_LM}},
                                         .check = check,
                                         .takes_cache = true,
                                         .text_name = "deepseek_v2"};
