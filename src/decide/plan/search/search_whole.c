/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/plan/search/search_whole.h"

#include "decide/plan/choose/choose.h"
#include "decide/plan/search/search_stages.h"
#include "decide/plan/search/search_local.h"
#include "decide/plan/search/simulate.h"

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

/* The best of a search that is followed by another one. */
typedef struct incumbent {
    ms_assignment best;
    double best_ms, retry_ms;
} incumbent;

static incumbent put_aside(ms_search *s)
{
    const incumbent i = {s->best, s->best_ms, s->retry_ms};
    s->has_best = false;
    return i;
}

/* Takes it back unless the second search found a faster one. */
static void take_back(ms_search *s, const incumbent *i)
{
    if (s->has_best && s->best_ms < i->best_ms)
        return;
    s->has_best = true;
    s->best = i->best;
    s->best_ms = i->best_ms;
    s->retry_ms = i->retry_ms;
}

/* Far from the bound an allocator decides, and what it takes is a matter of luck: the same once
 * more from other assignments. */
static const double far_from_bound = 0.04;

static ms_status search_again(ms_search *s, double bound_ms)
{
    ms_chosen second;
    if (!s->has_best || ms_step_plan_accepts(s->task, &s->plan->keep_all) ||
        !(bound_ms < s->best_ms * (1 - far_from_bound)))
        return MS_OK;
    const incumbent first = put_aside(s);
    s->has_no_queues = true;
    ms_status status = ms_search_run(s, ms_choose_milp, &second);
    s->has_no_queues = false;
    take_back(s, &first);
    return status;
}

/* What has retries may be slower than what has none, which the search did not look for. */
static ms_status search_without_retries(ms_search *s)
{
    ms_chosen second;
    if (!s->has_best || !(s->retry_ms > 0) || s->plan->held_budget_bytes > 0 ||
        ms_stop_asked(s->task->stop))
        return MS_OK;
    const incumbent first = put_aside(s);
    s->forbids_retries = true;
    ms_status status = ms_search_run(s, ms_choose_milp, &second);
    if (status == MS_OK && s->has_best)
        status = ms_search_local(s, second.bound);
    s->forbids_retries = false;
    take_back(s, &first);
    return status;
}

ms_status ms_search_whole(ms_search *s, ms_chosen *first)
{
    ms_status status = MS_OK;
    *first = (ms_chosen){0};
    if (ms_step_plan_accepts(s->task, &s->plan->keep_all)) /* attention in pieces may be faster */
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
    return status == MS_OK ? search_without_retries(s) : status;
}
