/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * GPT-OSS: families/gpt_oss.family has its keys, modules and calls.
 */
#include "model/family/family_list.h"
#include "model/family/family_keys.h"

static const ms_family_facts facts = {
    .compared = MS_WITH_ZERO3 | MS_WITH_ZERO3_EXPERTS | MS_WITH_CHUNKED_LOSS,
    .liger = {.kernels = MS_LIGER_ROPE | MS_LIGER_RMS_NORM | MS_LIGER_LOSS,
              .norms = MS_LIGER_IS_LAYER | MS_LIGER_IS_LAST,
              .logits_share = 8},
    .llama_cpp = "gpt-oss",
    .vllm = &(const ms_vllm_arch){.qkv_bias = MS_VLLM_BIAS_ALWAYS,
                                  .out_bias = MS_VLLM_BIAS_ALWAYS,
                                  .norms = 2,
                                  .tie = MS_VLLM_TIE_DROPS,
                                  .table = MS_VLLM_TABLE_WIDE_FIRST,
                                  .experts = MS_VLLM_EXPERTS_ALL,
                                  .has_sinks = true},
    .stores_mxfp4 = true,
};

const ms_family ms_family_gpt_oss = {.model_type = "gpt_oss",
                                     .facts = &facts,
                                     .classes = {{"GptOssForCausalLM", MS_HEAD_CAUSAL_LM}},
                                     .check = ms_check_experts,
                                     .eager_only = true,
                                     .has_sinks = true,
                                     .grouped_experts_only = true,
                                     .takes_cache = true,
                                     .text_name = "gpt_oss"};
