/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config/liger.h"

#include <string.h>

static const struct {
    const char *name;
    ms_liger bit;
} kernels_known[] = {
    {"rope", MS_LIGER_ROPE},
    {"rms-norm", MS_LIGER_RMS_NORM},
    {"swiglu", MS_LIGER_SWIGLU},
    {"loss", MS_LIGER_LOSS},
};
enum { KERNEL_COUNT = sizeof kernels_known / sizeof kernels_known[0] };

/* The families that liger-kernel 0.8 patches, among those known here. */
static const struct {
    const char *model_type;
    bool is_modelled;
} families[] = {
    {"deepseek_v2", false}, {"deepseek_v3", false}, {"gemma", false},  {"gemma2", false},
    {"gemma3_text", false}, {"gemma3", false},      {"glm4", false},   {"gpt_oss", false},
    {"granite", false},     {"llama", true},        {"mistral", true}, {"mixtral", false},
    {"olmo2", false},       {"phi3", false},        {"qwen2", true},   {"qwen3", true},
    {"qwen3_moe", false},   {"smollm3", true},
};
enum { FAMILY_COUNT = sizeof families / sizeof families[0] };

static ms_status fail_word(const char *word, size_t bytes, ms_error *err)
{
    return ms_fail(err, MS_ERR_USAGE,
                   "found '%.*s', expected none, all, or some of rope, rms-norm, swiglu and loss "
                   "joined by +",
                   bytes < 40 ? (int)bytes : 40, word);
}

ms_status ms_liger_parse(const char *text, uint64_t *kernels, ms_error *err)
{
    *kernels = strcmp(text, "all") == 0 ? MS_LIGER_ALL : 0;
    if (*kernels || strcmp(text, "none") == 0)
        return MS_OK;
    for (const char *word = text;;) {
        size_t bytes = strcspn(word, "+"), i = 0;
        while (i < KERNEL_COUNT && (strlen(kernels_known[i].name) != bytes ||
                                    strncmp(kernels_known[i].name, word, bytes) != 0))
            i++;
        if (i == KERNEL_COUNT)
            return fail_word(word, bytes, err);
        *kernels |= (uint64_t)kernels_known[i].bit;
        if (word[bytes] == '\0')
            return MS_OK;
        word += bytes + 1;
    }
}

const char *ms_liger_text(ms_arena *arena, uint64_t kernels)
{
    const char *text = "";
    if (kernels == 0 || kernels == MS_LIGER_ALL)
        return kernels ? "all" : "none";
    for (size_t i = 0; i < KERNEL_COUNT && text; i++)
        if (kernels & (uint64_t)kernels_known[i].bit)
            text = ms_arena_printf(arena, "%s%s%s", text, *text ? "+" : "", kernels_known[i].name);
    return text;
}

static size_t row_of(const ms_model_config *model)
{
    size_t i = 0;
    while (i < FAMILY_COUNT && strcmp(families[i].model_type, model->family->model_type) != 0)
        i++;
    return i;
}

bool ms_liger_knows(const ms_model_config *model)
{
    return row_of(model) < FAMILY_COUNT;
}

bool ms_liger_is_modelled(const ms_model_config *model)
{
    size_t i = row_of(model);
    return i < FAMILY_COUNT && families[i].is_modelled;
}
