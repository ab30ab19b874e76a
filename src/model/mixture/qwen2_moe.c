/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Qwen2 with experts: families/qwen2_moe.family has its keys, modules and calls.
 */
#include "model/family/family_list.h"
#include "model/family/family_keys.h"

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
                                       .check = ms_check_experts,
                                       .has_zero_window = true,
                                       .takes_cache = true,
                                       .text_name = "qwen2_moe"};
