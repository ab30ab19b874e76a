/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/infer/llama/arch.h"

#include <stddef.h>
#include <string.h>

/* clang-format off */
static const ms_llama_arch_info archs[] = {
    [MS_LLAMA_LLAMA]     = {"llama", 0},
    [MS_LLAMA_QWEN2]     = {"qwen2", 0},
    [MS_LLAMA_QWEN3]     = {"qwen3", 0},
    [MS_LLAMA_QWEN3MOE]  = {"qwen3moe", 0},
    [MS_LLAMA_GEMMA2]    = {"gemma2", 2},
    [MS_LLAMA_GEMMA3]    = {"gemma3", 6},
    [MS_LLAMA_GPT2]      = {"gpt2", 0},
    [MS_LLAMA_PHI3]      = {"phi3", 0},
    [MS_LLAMA_DEEPSEEK2] = {"deepseek2", 0},
    [MS_LLAMA_GPT_OSS]   = {"gpt-oss", 2},
    [MS_LLAMA_LFM2]      = {"lfm2", 0},
    [MS_LLAMA_MAMBA2]    = {"mamba2", 0},
};
/* clang-format on */
_Static_assert(sizeof archs / sizeof archs[0] == MS_LLAMA_ARCHS, "an architecture has no row");

const ms_llama_arch_info *ms_llama_arch_info_of(ms_llama_arch arch)
{
    return &archs[arch];
}

bool ms_llama_arch_of_name(const char *name, ms_llama_arch *arch)
{
    for (int i = 0; i < MS_LLAMA_ARCHS; i++)
        if (strcmp(archs[i].name, name) == 0) {
            *arch = (ms_llama_arch)i;
            return true;
        }
    return false;
}
