/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/plan/search/search_heuristics.h"

#include "decide/plan/choose/choose_heuristics.h"
#include "decide/plan/search/search.h"
#include "decide/plan/search/search_min_budget.h"

enum { MOST_UNIFORM = 8 };

ms_status ms_search_checkpoints(ms_search *s)
{
    ms_assignment assignment;
    bool yes;
    if (!(s->techniques & MS_MAY_CHECKPOINT))
        return MS_OK;
    ms_status status = ms_assignment_checkpoint_all(s->arena, &s->costs, 0, &assignment, s->err);
    if (status != MS_OK)
        return status;
    ms_cost_sum sum = ms_assignment_sum(&s->costs, &assignment);
    if (sum.peak_bytes > s->capacity_bytes || (s->has_best && sum.step_ms >= s->best_ms))
        return MS_OK;
    return ms_search_consider(s, &assignment, &yes);
}

ms_status ms_search_any_checkpoints(ms_search *s)
{
    ms_assignment assignment;
    uint32_t losses = ms_search_loss_count(s);
    ms_status status = MS_OK;
    for (uint32_t o = 0; o < s->costs.option_count && status == MS_OK; o++) {
        const ms_treatment *t = &s->costs.options[o].treatment;
        if (t->kind != MS_TREAT_CHECKPOINT || !ms_treatment_allowed(t, s->techniques))
            continue;
        for (uint32_t l = 0; l < losses && status == MS_OK && !s->has_best; l++) {
            bool yes;
            status = ms_assignment_keep_all(s->arena, &s->costs, &assignment, s->err);
            if (status != MS_OK)
                break;
            ms_assignment_fill(&s->costs, o, &assignment);
            assignment.loss = l;
            if (ms_assignment_sum(&s->costs, &assignment).peak_bytes <= s->capacity_bytes)
                status = ms_search_consider(s, &assignment, &yes);
        }
    }
    return status;
}

/* The fastest of those that treat every layer alike and are not tried yet: slower than `after_ms`.
 */
static bool next_uniform(const ms_search *s, double after_ms, ms_assignment *tried,
                         ms_assignment *next, double *next_ms)
{
    const ms_choose_task task = ms_search_task(s, s->capacity_bytes);
    bool found = false;
    for (uint32_t o = 0; o < s->costs.option_count; o++) {
        if (!ms_treatment_allowed(&s->costs.options[o].treatment, s->techniques))
            continue;
        ms_assignment_fill(&s->costs, o, tried);
        for (tried->loss = 0; tried->loss < s->costs.loss_count; tried->loss++) {
            ms_cost_sum sum = ms_assignment_sum(&s->costs, tried);
            if (!ms_loss_allowed(&task, tried->loss) || sum.peak_bytes > s->capacity_bytes ||
                sum.step_ms <= after_ms || (found && sum.step_ms >= *next_ms))
                continue;
            found = true;
            *next_ms = sum.step_ms;
            next->loss = tried->loss;
            next->options[0] = o;
        }
    }
    if (found)
        ms_assignment_fill(&s->costs, next->options[0], next);
    return found;
}

/* Where the allocator refuses what counts as best, layers that are alike often fit. */
static ms_status try_uniform(ms_search *s)
{
    ms_assignment tried, next;
    double ms = 0;
    bool yes = false;
    ms_status status = ms_assignment_keep_all(s->arena, &s->costs, &tried, s->err);
    for (int i = 0; i < MOST_UNIFORM && status == MS_OK && !yes && !ms_deadline_reached(&s->limit);
         i++) {
        status = ms_assignment_keep_all(s->arena, &s->costs, &next, s->err);
        if (status != MS_OK || !next_uniform(s, ms, &tried, &next, &ms) ||
            (s->has_best && ms >= s->best_ms))
            break;
        status = ms_search_consider(s, &next, &yes);
    }
    return status;
}

ms_status ms_search_simpler(ms_search *s)
{
    ms_chosen chosen;
    bool yes;
    ms_status status = ms_search_try(s, ms_choose_greedy, &chosen, &yes);
    if (status == MS_OK)
        status = try_uniform(s);
    return status == MS_OK ? ms_search_checkpoints(s) : status;
}

/* Beyond this share of the bound it is worth looking elsewhere. */
static const double worth_lowest = 0.03;

ms_status ms_search_restart(ms_search *s, double bound_ms)
{
    bool is_far = s->has_best && s->best_ms > bound_ms * (1 + worth_lowest);
    ms_status status = !s->is_one_of_many && is_far ? ms_search_lowest(s) : MS_OK;
    return status == MS_OK ? ms_search_simpler(s) : status;
}
