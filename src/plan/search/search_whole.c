/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plan/search/search_whole.h"

#include "plan/choose/choose_heuristics.h"
#include "plan/search/search_heuristics.h"
#include "plan/search/search_local.h"
#include "plan/search/search_min_budget.h"
#include "plan/search/search_stages.h"

static bool needs_simpler(const ms_search *s)
{
    return !s->has_best && !s->is_ruled_out;
}

/* Nothing was proven to fit so far, though something may. */
static ms_status find_any(ms_search *s)
{
    ms_chosen chosen;
    ms_status status = needs_simpler(s) ? ms_search_any_checkpoints(s) : MS_OK;
    if (status == MS_OK && needs_simpler(s))
        status = ms_search_run_as_chosen(s, ms_choose_greedy, &chosen);
    if (status == MS_OK && !s->has_best && !ms_stop_asked(s->task->stop))
        status = ms_search_min_budget(s);
    if (s->has_best)
        s->plan->least_budget_bytes = 0;
    return status;
}

ms_status ms_search_whole(ms_search *s, ms_chosen *first)
{
    ms_status status = MS_OK;
    *first = (ms_chosen){0};
    if (ms_reason_fits(s->plan->keep_all.reason)) /* attention in pieces may be faster */
        status = ms_search_take_kept(s);
    if (status == MS_OK)
        status = ms_search_run(s, ms_choose_milp, first);
    if (status == MS_OK && !s->has_best)
        status = find_any(s);
    bool fits_none = status == MS_OK && !s->has_best && s->plan->plan.treat;
    if (status == MS_OK && !fits_none)
        status = ms_search_restart(s, first->bound);
    if (status == MS_OK && !fits_none)
        status = ms_search_local(s, first->bound);
    return status;
}
