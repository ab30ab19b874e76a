/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/launch/foreign_programs.h"

#include <string.h>

#include "input/config/launch/launch_class.h"
#include "base/text/words.h"

static bool starts(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static const struct {
    const char *beginning, *trainer;
} foreign_modules[] = {
    {"verl.", "verl"},
    {"openrlhf.", "OpenRLHF"},
    {"nemo_rl.", "NeMo-RL"},
    {"nemo.", "NeMo"},
    {"nemo_automodel", "NeMo AutoModel"},
    {"megatron.", "Megatron-LM"},
    {"prime_rl.", "prime-rl"},
    {"swift.", "this part of ms-swift"},
    {"slime.", "slime"},
};

ms_status ms_launch_refuse_trainer(const ms_launch *l, uint32_t at, const char *trainer)
{
    return ms_launch_fail(l, at,
                          "%s is not read: give the settings as options (--batch, --seq, "
                          "--parallel tp=4,pp=2), or have memscope capture run the training itself",
                          trainer);
}

ms_status ms_launch_check_foreign(const ms_launch *l, uint32_t at, const char *name)
{
    bool is_file = ms_text_ends_in(name, ".py");
    for (size_t i = 0; !is_file && i < sizeof foreign_modules / sizeof *foreign_modules; i++)
        if (starts(name, foreign_modules[i].beginning))
            return ms_launch_refuse_trainer(l, at, foreign_modules[i].trainer);
    if (starts(ms_launch_base_name(name), "pretrain_") && ms_text_ends_in(name, ".py"))
        for (uint32_t i = at + 1; i < l->count; i++)
            if (starts(l->words[i].text, "--num-layers") ||
                starts(l->words[i].text, "--tensor-model-parallel-size") ||
                starts(l->words[i].text, "--micro-batch-size") ||
                starts(l->words[i].text, "--use-mcore-models"))
                return ms_launch_refuse_trainer(l, at, "Megatron-LM");
    return MS_OK;
}
