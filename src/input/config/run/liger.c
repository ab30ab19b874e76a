/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/run/liger.h"

#include <string.h>

#include "input/config/model/family_facts.h"
#include "input/config/model/model_config.h"

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
    const ms_liger_family *liger = &ms_family_facts_of(model->family)->liger;
    return liger->kernels ? liger : NULL;
}

bool ms_liger_fuses_head(uint64_t kernels, const ms_liger_family *family)
{
    return (kernels & MS_LIGER_LOSS) && family && family->logits_share > 0;
}
