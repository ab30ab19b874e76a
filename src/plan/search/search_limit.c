/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plan/search/search_limit.h"

void ms_search_set_budget(ms_run_config *run, uint64_t budget_bytes)
{
    uint64_t reservable = ms_device_reservable_bytes(run->device, budget_bytes);
    run->has_budget = true;
    run->budget_bytes = budget_bytes;
    if (run->allocator.kind != MS_ALLOCATOR_RAW)
        run->allocator.capacity_bytes = reservable > 0 ? reservable : 1;
}

static uint64_t limit_of(const ms_run_config *run)
{
    uint64_t budget = ms_judge_budget(run);
    return budget == 0 ? UINT64_MAX : ms_device_reservable_bytes(run->device, budget);
}

void ms_search_set_limit(ms_search *s)
{
    const ms_run_config *run = s->task->run;
    s->limit_bytes = limit_of(run);
    s->proofs = NULL;
    s->plan->budget_bytes = ms_judge_budget(run);
}
