/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plan/search/search_limit.h"

#include "config/run/budget.h"

void ms_search_set_capacity(ms_search *s)
{
    const ms_run_config *run = s->task->run;
    uint64_t capacity = ms_budget_capacity(run->device, run->budget_bytes);
    s->capacity_bytes = capacity ? capacity : UINT64_MAX;
    s->proofs = NULL;
    s->plan->budget_bytes = run->budget_bytes;
}
