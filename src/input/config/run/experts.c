/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/run/experts.h"

#include <stddef.h>

#include "input/config/model/model_config.h"

enum { ALIGNMENT = 16 }; /* bytes: rows of what grouped products take must be multiples */

const char *const ms_experts_names[MS_EXPERTS_COUNT + 1] = {
    [MS_EXPERTS_AUTO] = "auto",
    [MS_EXPERTS_GROUPED] = "grouped",
    [MS_EXPERTS_EAGER] = "eager",
};

const char *const ms_routing_names[MS_ROUTING_COUNT + 1] = {
    [MS_ROUTING_BALANCED] = "balanced",
    [MS_ROUTING_SKEWED] = "skewed",
};

const char *ms_experts_refusal(ms_experts experts, const ms_model_config *model,
                               const ms_run_config *run)
{
    if (experts == MS_EXPERTS_EAGER && model->family->grouped_experts_only)
        return "are not supported for this family";
    uint64_t bytes = ms_dtype_bytes(run->dtype);
    bool aligned = model->hidden_size * bytes % ALIGNMENT == 0 &&
                   ms_expert_size(model) * bytes % ALIGNMENT == 0;
    if (experts != MS_EXPERTS_GROUPED || aligned)
        return NULL;
    return "need a hidden size and an expert's intermediate size of a multiple of 16 bytes; eager "
           "experts take any";
}

/* The first ones get every token, but for the last slots, which the last two experts get. */
static uint64_t skewed_rows(uint64_t tokens, uint64_t each, uint64_t count, uint64_t expert)
{
    uint64_t last = tokens * each > 1 ? 2 : 1, rows = expert < each ? tokens : 0;
    if (each == 1 && expert == 0)
        rows -= last;
    else if (expert < each && expert + 2 >= each)
        rows--;
    if (expert + 1 == count || (expert + 2 == count && last == 2))
        rows++;
    return rows;
}

uint64_t ms_expert_rows(ms_routing_kind routing, uint64_t tokens, uint64_t each, uint64_t count,
                        uint64_t expert)
{
    uint64_t rows = tokens * each;
    if (count == 1)
        return rows;
    if (routing == MS_ROUTING_SKEWED)
        return skewed_rows(tokens, each, count, expert);
    return rows / count + (expert < rows % count ? 1 : 0);
}
