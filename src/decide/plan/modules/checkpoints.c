/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Each method is tried if the previous ones leave a gap: discard as much as possible, which fits if
 * anything does; prices; labels; choices, a mixed-integer problem; and labels again, with more of
 * them.
 */
#include "decide/plan/modules/checkpoints.h"

#include <math.h>
#include <string.h>

#include "decide/plan/modules/adjust.h"
#include "decide/plan/modules/candidates.h"
#include "decide/plan/modules/choices.h"
#include "decide/plan/modules/labels.h"
#include "decide/plan/modules/prices.h"

/* Pieces that are continued, over all candidates. */
enum {
    FEWEST_LOOKS = 50000,
    SOME_LOOKS = 400000,
    ENOUGH_LOOKS = 5000000,
    MANY_LOOKS = 3200000,
    MOST_LOOKS = 30000000,
    FEWEST_PIECES = 16,
    MOST_CHOICES = 4000 /* candidates */
};
#define CHOICES_SHARE 0.6 /* of the time that is left */

typedef struct search {
    ms_arena *arena;
    ms_candidates candidates;
    ms_deadline limit;
    ms_checkpoint_plan *plan; /* the best so far; its bound is that of all plans */
    uint32_t *tried;          /* by module */
    const double *price;      /* by candidate */
    double rounding_ms;       /* what whole parts may cost the best plan */
} search;

static void set_gap(search *s)
{
    ms_checkpoint_plan *plan = s->plan;
    double bound = plan->bound_ms < plan->recompute_ms ? plan->bound_ms : plan->recompute_ms;
    plan->gap = plan->recompute_ms > 0 ? 1 - bound / plan->recompute_ms : 0;
}

static bool is_done(const search *s)
{
    const ms_checkpoint_plan *p = s->plan;
    double allowed = (s->candidates.task->gap + 1e-6) * p->recompute_ms + s->rounding_ms;
    return p->recompute_ms - p->bound_ms <= allowed;
}

static bool is_optimal(const search *s)
{
    const ms_checkpoint_plan *p = s->plan;
    return p->recompute_ms - p->bound_ms <= 1e-7 * p->recompute_ms + s->rounding_ms;
}

static double rounding_ms(const search *s, const uint32_t *parts)
{
    double ms = 0;
    for (uint32_t i = 0; i < s->candidates.count; i++) {
        const ms_candidate *candidate = &s->candidates.items[i];
        uint32_t here = parts[candidate->index];
        double step = here > 0 && here < MS_PARTS
                          ? ms_checkpoint_ms(candidate->module, here) -
                                ms_checkpoint_ms(candidate->module, here - 1)
                          : 0;
        ms += step > 0 ? step : 0;
    }
    return ms;
}

/* Makes a plan of what was tried, and keeps it if it is the best. */
static void keep_tried(search *s)
{
    const ms_checkpoint_task *task = s->candidates.task;
    uint32_t peak_module;
    if (!ms_candidates_repair(&s->candidates, s->tried))
        return;
    ms_candidates_improve(&s->candidates, s->tried);
    double ms = ms_candidates_ms(&s->candidates, s->tried);
    uint64_t peak = ms_checkpoint_peak(task, s->candidates.order, s->tried, &peak_module);
    if (peak > task->budget_bytes || (s->plan->has_plan && ms >= s->plan->recompute_ms))
        return;
    memcpy(s->plan->parts, s->tried, task->graph->count * sizeof *s->tried);
    s->plan->has_plan = true;
    s->plan->recompute_ms = ms;
    s->rounding_ms = rounding_ms(s, s->tried);
    s->plan->peak_bytes = peak;
    s->plan->peak_module = peak_module;
}

static void raise_bound(search *s, double bound)
{
    s->plan->bound_ms = bound > s->plan->bound_ms ? bound : s->plan->bound_ms;
    set_gap(s);
}

static ms_status try_prices(search *s)
{
    ms_prices prices = {0};
    ms_status status = ms_prices_find(s->arena, &s->candidates, &s->limit, &prices);
    if (status != MS_OK)
        return status;
    s->price = prices.price;
    if (prices.parts) {
        memcpy(s->tried, prices.parts, s->candidates.task->graph->count * sizeof *s->tried);
        keep_tried(s);
    }
    raise_bound(s, prices.bound_ms);
    return MS_OK;
}

/* Ever more pieces, until the plan is optimal; or within the gap, once that has been tried with
 * more than a few. */
static ms_status try_labels(search *s, uint64_t first_looks, uint64_t most_looks)
{
    uint32_t count = s->candidates.count;
    for (uint64_t looks = first_looks; count > 0 && looks <= most_looks; looks *= 8) {
        if (ms_deadline_reached(&s->limit) ||
            (is_done(s) && (is_optimal(s) || looks > ENOUGH_LOOKS)))
            break;
        uint64_t most_pieces = looks / count;
        ms_labels labels = {.parts = s->tried};
        ms_labels_options options = {
            .price = s->price,
            .below_ms = s->plan->recompute_ms,
            .most_pieces = most_pieces > FEWEST_PIECES ? (uint32_t)most_pieces : FEWEST_PIECES,
            .limit = &s->limit,
        };
        ms_status status = ms_labels_find(s->arena, &s->candidates, &options, &labels);
        if (status != MS_OK)
            return status;
        if (labels.has_plan)
            keep_tried(s);
        raise_bound(s, labels.bound_ms);
        if (labels.is_complete)
            break;
    }
    return MS_OK;
}

static ms_status try_choices(search *s)
{
    ms_choices choices = {.parts = s->tried};
    ms_choices_options options = {
        .price = s->price,
        .enough_ms = s->plan->recompute_ms * (1 - s->candidates.task->gap),
        .limit = &s->limit,
        .time_limit_s = CHOICES_SHARE * ms_deadline_left_s(&s->limit),
    };
    if (s->candidates.count == 0 || s->candidates.count > MOST_CHOICES || is_done(s) ||
        ms_deadline_reached(&s->limit))
        return MS_OK;
    ms_status status = ms_choices_plan(s->arena, &s->candidates, &options, &choices);
    if (status != MS_OK)
        return status;
    if (choices.has_plan)
        keep_tried(s);
    raise_bound(s, choices.bound_ms);
    return MS_OK;
}

/* The methods in turn, as long as a gap is left. */
static ms_status search_plan(search *s, ms_error *err)
{
    ms_status status = try_prices(s);
    if (status == MS_OK)
        status = try_labels(s, FEWEST_LOOKS, SOME_LOOKS);
    if (status == MS_OK)
        status = try_choices(s);
    if (status == MS_OK)
        status = try_labels(s, MANY_LOOKS, MOST_LOOKS);
    if (status != MS_OK)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for the plan");
    return MS_OK;
}

static void set_outcome(search *s)
{
    ms_checkpoint_plan *plan = s->plan;
    if (plan->bound_ms > plan->recompute_ms)
        plan->bound_ms = plan->recompute_ms;
    plan->outcome = is_done(s)                       ? MS_PLAN_OPTIMAL
                    : ms_deadline_stopped(&s->limit) ? MS_PLAN_STOPPED
                                                     : MS_PLAN_LIMIT;
}

static ms_status run(search *s, ms_error *err)
{
    ms_checkpoint_plan *plan = s->plan;
    const ms_checkpoint_task *task = s->candidates.task;
    plan->peak_bytes =
        ms_checkpoint_peak(task, s->candidates.order, plan->parts, &plan->peak_module);
    plan->has_plan = plan->peak_bytes <= task->budget_bytes;
    if (plan->has_plan)
        return MS_OK;
    if (!ms_candidates_fit(&s->candidates, task->budget_bytes, s->tried)) {
        plan->outcome = MS_PLAN_INFEASIBLE;
        plan->least_bytes = ms_candidates_least(&s->candidates, s->tried);
        ms_checkpoint_peak(task, s->candidates.order, s->tried, &plan->peak_module);
        return MS_OK;
    }
    ms_candidates_only(&s->candidates, s->tried);
    keep_tried(s);
    ms_status status = search_plan(s, err);
    if (status == MS_OK)
        set_outcome(s);
    return status;
}

ms_status ms_checkpoints_plan(ms_arena *arena, const ms_checkpoint_task *task,
                              ms_checkpoint_plan *plan, ms_error *err)
{
    *plan = (ms_checkpoint_plan){.outcome = MS_PLAN_OPTIMAL};
    search s = {.arena = arena, .limit = ms_deadline_begin(task->time_limit_s, task->stop)};
    s.plan = plan;
    s.tried = ms_arena_array(arena, uint32_t, task->graph->count);
    plan->parts = ms_arena_array(arena, uint32_t, task->graph->count);
    if (!s.tried || !plan->parts || ms_candidates_prepare(arena, task, &s.candidates) != MS_OK)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for the plan");
    return run(&s, err);
}
