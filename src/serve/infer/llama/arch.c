/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/infer/llama/arch.h"

#include <stddef.h>
#include <string.h>

/* clang-format off */
static const ms_llama_arch_info archs[] = {
    [MS_LLAMA_LLAMA]     = {"llama",     {"llama", "mistral", "mixtral"}, 0},
    [MS_LLAMA_QWEN2]     = {"qwen2",     {"qwen2"},                       0},
    [MS_LLAMA_QWEN3]     = {"qwen3",     {"qwen3"},                       0},
    [MS_LLAMA_QWEN3MOE]  = {"qwen3moe",  {"qwen3_moe"},                   0},
    [MS_LLAMA_GEMMA2]    = {"gemma2",    {"gemma2"},                      2},
    [MS_LLAMA_GEMMA3]    = {"gemma3",    {"gemma3", "gemma3_text"},       6},
    [MS_LLAMA_GPT2]      = {"gpt2",      {"gpt2"},                        0},
    [MS_LLAMA_PHI3]      = {"phi3",      {"phi3"},                        0},
    [MS_LLAMA_DEEPSEEK2] = {"deepseek2", {"deepseek_v2"},                 0},
    [MS_LLAMA_GPT_OSS]   = {"gpt-oss",   {"gpt_oss"},                     2},
    [MS_LLAMA_LFM2]      = {"lfm2",      {"lfm2"},                        0},
    [MS_LLAMA_MAMBA2]    = {"mamba2",    {NULL},                          0},
};
/* clang-format on */
_Static_assert(sizeof archs / sizeof archs[0] == MS_LLAMA_ARCHS, "an architecture has no row");

const ms_llama_arch_info *ms_llama_arch_info_of(ms_llama_arch arch)
{
    return &archs[arch];
}

bool ms_llama_arch_of_type(const char *model_type, ms_llama_arch *arch)
{
    enum { MOST = sizeof archs[0].model_types / sizeof archs[0].model_types[0] };
    for (int i = 0; i < MS_LLAMA_ARCHS; i++)
        for (size_t k = 0; k < MOST && archs[i].model_types[k]; k++)
            if (strcmp(archs[i].model_types[k], model_type) == 0) {
                *arch = (ms_llama_arch)i;
                return true;
            }
    return false;
}

bool ms_llama_arch_is_known(const char *name)
{
    for (int i = 0; i < MS_LLAMA_ARCHS; i++)
        if (strcmp(archs[i].name, name) == 0)
            return true;
    return false;
}
