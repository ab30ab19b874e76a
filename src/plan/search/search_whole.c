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

/* Far from the bound an allocator decides, and what it takes is a matter of luck: the same once
 * more from other assignments. */
static const double far_from_bound = 0.04;

static ms_status search_again(ms_search *s, double bound_ms)
{
    const ms_assignment best = s->best;
    const double best_ms = s->best_ms;
    const bool is_best_proven = s->is_best_proven;
    ms_chosen second;
    if (!s->has_best || ms_reason_fits(s->plan->keep_all.reason) ||
        !(bound_ms < best_ms * (1 - far_from_bound)))
        return MS_OK;
    s->has_best = false;
    s->has_no_queues = true;
    ms_status status = ms_search_run(s, ms_choose_milp, &second);
    s->has_no_queues = false;
    if (!s->has_best || s->best_ms >= best_ms) {
        s->has_best = true;
        s->best = best;
        s->best_ms = best_ms;
        s->is_best_proven = is_best_proven;
    }
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
    if (status == MS_OK)
        status = search_again(s, first->bound);
    if (status == MS_OK && !s->has_best)
        status = find_any(s);
    bool fits_none = status == MS_OK && !s->has_best && s->plan->plan.treat;
    if (status == MS_OK && !fits_none)
        status = ms_search_restart(s, first->bound);
    if (status == MS_OK && !fits_none)
        status = ms_search_local(s, first->bound);
    return status;
}
