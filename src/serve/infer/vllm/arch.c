/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/infer/vllm/arch.h"

#include <stddef.h>
#include <string.h>

static const ms_vllm_arch archs[] = {
    {.model_type = "llama",
     .qkv_bias = MS_VLLM_BIAS_ASKED,
     .out_bias = MS_VLLM_BIAS_ASKED,
     .norms = 2,
     .mlp_rows = 3,
     .tie = MS_VLLM_TIE_DROPS},
    {.model_type = "mistral", .norms = 2, .mlp_rows = 3, .tie = MS_VLLM_TIE_DROPS},
    {.model_type = "phi3", .norms = 2, .mlp_rows = 3, .tie = MS_VLLM_TIE_DROPS},
    {.model_type = "qwen2", .qkv_bias = MS_VLLM_BIAS_ALWAYS, .norms = 2, .mlp_rows = 4},
    {.model_type = "qwen3",
     .qkv_bias = MS_VLLM_BIAS_ASKED,
     .head_norms = MS_VLLM_HEAD_NORMS_LAST,
     .norms = 2,
     .mlp_rows = 4},
    {.model_type = "granite",
     .qkv_bias = MS_VLLM_BIAS_ASKED,
     .out_bias = MS_VLLM_BIAS_ASKED,
     .norms = 2,
     .mlp_rows = 4,
     .tie = MS_VLLM_TIE_DROPS},
    {.model_type = "gemma2",
     .qkv_bias = MS_VLLM_BIAS_ASKED,
     .out_bias = MS_VLLM_BIAS_ASKED,
     .norms = 4,
     .mlp_rows = 5,
     .has_normalizer = true,
     .always_ties = true},
    {.model_type = "gemma3_text",
     .qkv_bias = MS_VLLM_BIAS_ASKED,
     .out_bias = MS_VLLM_BIAS_ASKED,
     .head_norms = MS_VLLM_HEAD_NORMS_BEFORE_ROTARY,
     .norms = 4,
     .mlp_rows = 5,
     .tie = MS_VLLM_TIE_DROPS,
     .has_normalizer = true,
     .has_two_rotaries = true},
    {.model_type = "qwen2_moe",
     .qkv_bias = MS_VLLM_BIAS_ALWAYS,
     .norms = 2,
     .mlp_rows = 4,
     .tie = MS_VLLM_TIE_DROPS,
     .experts = MS_VLLM_EXPERTS_SOME,
     .has_linear_router = true,
     .has_shared_gate = true,
     .has_v2_experts = true},
    {.model_type = "qwen3_moe",
     .has_linear_router = true,
     .qkv_bias = MS_VLLM_BIAS_ASKED,
     .head_norms = MS_VLLM_HEAD_NORMS_LAST,
     .norms = 2,
     .mlp_rows = 4,
     .tie = MS_VLLM_TIE_DROPS,
     .experts = MS_VLLM_EXPERTS_SOME},
    {.model_type = "mixtral", .norms = 2, .tie = MS_VLLM_TIE_DROPS, .experts = MS_VLLM_EXPERTS_ALL},
    {.model_type = "deepseek_v2",
     .norms = 2,
     .mlp_rows = 4,
     .tie = MS_VLLM_TIE_DROPS,
     .table = MS_VLLM_TABLE_WIDE,
     .experts = MS_VLLM_EXPERTS_SOME,
     .is_latent = true,
     .has_v2_experts = true},
    {.model_type = "deepseek_v3",
     .norms = 2,
     .mlp_rows = 4,
     .tie = MS_VLLM_TIE_DROPS,
     .table = MS_VLLM_TABLE_WIDE,
     .experts = MS_VLLM_EXPERTS_SOME,
     .is_latent = true,
     .has_router_bias = true},
    {.model_type = "gpt_oss",
     .qkv_bias = MS_VLLM_BIAS_ALWAYS,
     .out_bias = MS_VLLM_BIAS_ALWAYS,
     .norms = 2,
     .tie = MS_VLLM_TIE_DROPS,
     .table = MS_VLLM_TABLE_WIDE_FIRST,
     .experts = MS_VLLM_EXPERTS_ALL,
     .has_sinks = true},
};

enum { ARCHS = sizeof archs / sizeof archs[0] };

const ms_vllm_arch *ms_vllm_arch_of(const char *model_type)
{
    for (size_t i = 0; i < ARCHS; i++)
        if (strcmp(archs[i].model_type, model_type) == 0)
            return &archs[i];
    return NULL;
}

bool ms_vllm_has_bias(ms_vllm_bias bias, const ms_model_config *config)
{
    return bias == MS_VLLM_BIAS_ALWAYS || (bias == MS_VLLM_BIAS_ASKED && config->attention_bias);
}
