/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/fit/answer.h"

#include "input/config/model/model_read.h"
#include "base/text/nearest.h"

enum {
    MOST_BATCH = 1 << 20,
    MOST_TOKENS = 1 << 24,
    MOST_RANK = 1 << 16,
    MOST_LAYERS = 4096,
    MOST_GPUS = 1024
};

static const ms_fit_what whats[] = {
    {MS_FIT_BATCH, "batch", "sequences per micro-batch", 1, MOST_BATCH},
    {MS_FIT_SEQ, "seq", "tokens per sequence", 64, MOST_TOKENS},
    {MS_FIT_RANK, "rank", "of the adapter", 1, MOST_RANK},
    {MS_FIT_LAYERS, "layers", "like this model's own", 1, MOST_LAYERS},
    {MS_FIT_GPUS, "gpus", "that share the training", 1, MOST_GPUS},
};

const char *const ms_fit_end_names[] = {[MS_FIT_MEMORY] = "memory",
                                        [MS_FIT_POSITIONS] = "positions",
                                        [MS_FIT_MOST] = "most",
                                        [MS_FIT_LEAST] = "least"};

const ms_fit_what *ms_fit_what_at(size_t index)
{
    return index < sizeof whats / sizeof whats[0] ? &whats[index] : NULL;
}

ms_status ms_fit_what_find(const char *name, const ms_fit_what **what, ms_error *err)
{
    char hint[64];
    ms_nearest nearest = ms_nearest_to(name);
    for (size_t i = 0; (*what = ms_fit_what_at(i)) != NULL; i++) {
        if (ms_name_equal((*what)->name, name))
            return MS_OK;
        ms_nearest_offer(&nearest, (*what)->name);
    }
    return ms_fail(err, MS_ERR_USAGE,
                   "what: '%.40s' is not one of batch, seq, rank, layers and gpus%s", name,
                   ms_nearest_hint(&nearest, hint, sizeof hint));
}

ms_layout ms_fit_layout(const ms_fit_answer *answer, uint64_t gpus)
{
    ms_layout layout = answer->layout;
    if (gpus == 1)
        return (ms_layout){
            .kind = MS_PARALLEL_NONE, .shards = 1, .copies = 1, .tensor = 1, .context = 1};
    layout.shards = gpus / (ms_layout_world(&layout) / layout.shards);
    return layout;
}

bool ms_fit_is_of_gpus(const ms_fit_answer *answer)
{
    return answer->what->kind == MS_FIT_GPUS;
}
