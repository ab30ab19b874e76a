/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Qwen3 with experts: families/qwen3_moe.family has its keys, modules and calls.
 */
#include "model/family/family_list.h"
#include "model/family/family_keys.h"

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
                                       .check = ms_check_experts,
                                       .takes_cache = true,
                                       .text_name = "qwen3_moe"};
