/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/run/liger.h"

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

enum {
    ROPE = MS_LIGER_ROPE,
    NORM = MS_LIGER_RMS_NORM,
    GATE = MS_LIGER_SWIGLU,
    LOSS = MS_LIGER_LOSS,
    ALL = MS_LIGER_ALL,
    LAYER = 1 << MS_LIGER_NORM_OF_LAYER,
    LAST = 1 << MS_LIGER_NORM_LAST,
    HEADS = 1 << MS_LIGER_NORM_OF_HEADS
};

/* The families that liger-kernel 0.8 patches, among those known here; as its code does it to a
 * model that is already there, which is Trainer's way. */
/* clang-format off */
static const ms_liger_family families[] = {
    /*                   kernels             norms                 whose gradient is a copy, logits */
    {"deepseek_v2",      NORM | GATE | LOSS, LAYER | LAST,         0,                    1},
    {"deepseek_v3",      NORM | GATE | LOSS, LAYER | LAST,         0,                    1},
    {"exaone4",          ALL,                LAYER | LAST | HEADS, LAYER | LAST | HEADS, 1},
    {"gemma",            ALL,                LAYER | LAST,         0,                    1},
    {"gemma2",           ALL,                LAYER | LAST,         LAYER | LAST,         1},
    {"gemma3",           ALL,                LAYER | LAST | HEADS, LAYER | LAST | HEADS, 1},
    {"gemma3_text",      ALL,                LAYER | LAST | HEADS, LAYER | LAST | HEADS, 1},
    {"glm4",             NORM | GATE | LOSS, LAYER | LAST,         LAYER | LAST,         1},
    {"gpt_oss",          ROPE | NORM | LOSS, LAYER | LAST,         0,                    8},
    {"granite",          ALL,                LAYER | LAST,         0,                    0},
    {"hunyuan_v1_dense", ALL,                LAYER | LAST,         0,                    1},
    {"llama",            ALL,                LAYER | LAST,         0,                    1},
    {"mistral",          ALL,                LAYER | LAST,         0,                    1},
    {"mixtral",          ALL,                LAYER | LAST,         0,                    1},
    {"olmo2",            ALL,                LAYER | LAST,         LAYER,                1},
    {"olmo3",            ALL,                LAYER | LAST,         LAYER,                1},
    {"phi3",             ALL,                LAYER | LAST,         0,                    1},
    {"qwen2",            ALL,                LAYER | LAST,         0,                    1},
    {"qwen3",            ALL,                LAYER | LAST | HEADS, 0,                    1},
    {"qwen3_moe",        ALL,                LAYER | LAST | HEADS, 0,                    1},
    {"smollm3",          ALL,                LAYER | LAST,         0,                    1},
};
/* clang-format on */
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

const ms_liger_family *ms_liger_family_of(const ms_model_config *model)
{
    for (size_t i = 0; i < FAMILY_COUNT; i++)
        if (strcmp(families[i].model_type, model->family->model_type) == 0)
            return &families[i];
    return NULL;
}

bool ms_liger_fuses_head(uint64_t kernels, const ms_liger_family *family)
{
    return (kernels & MS_LIGER_LOSS) && family && family->logits_share > 0;
}
