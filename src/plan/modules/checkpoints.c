/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Three methods, each tried if the previous ones leave a gap: discard as much as possible, which
 * fits if anything does; prices; counts of equal modules. The rows of the last one are those that
 * determine prices, and those that the plan so far violates.
 */
#include "plan/modules/checkpoints.h"

#include <math.h>
#include <string.h>

#include "plan/modules/adjust.h"
#include "plan/modules/candidates.h"
#include "plan/modules/counts.h"
#include "plan/modules/prices.h"
#include "plan/modules/recount.h"

enum { MOST_ROUNDS = 100, MOST_LEVELS = 12 };

typedef struct search {
    ms_arena *arena;
    ms_candidates candidates;
    ms_limit limit;
    ms_checkpoint_plan *plan; /* the best so far; its bound is that of all plans */
    uint32_t *tried;          /* by module */
    bool *is_used;            /* by row */
    uint64_t more_bytes;
    double rounding_ms; /* what whole parts may cost the best plan */
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
    s->is_used = prices.is_tight;
    if (prices.parts) {
        memcpy(s->tried, prices.parts, s->candidates.task->graph->count * sizeof *s->tried);
        keep_tried(s);
    }
    raise_bound(s, prices.bound_ms);
    return MS_OK;
}

/* What a plan lacks, by row. Returns the most that it lacks for a row in use. */
static uint64_t find_lacks(const search *s, uint64_t *lacks)
{
    const ms_candidates *c = &s->candidates;
    uint64_t freed = 0, most = 0;
    uint32_t next = 0;
    for (uint32_t row = 0; row < c->row_count; row++) {
        for (; next < c->rows[row].before; next++)
            freed +=
                ms_checkpoint_freed_bytes(c->items[next].module, s->tried[c->items[next].index]);
        uint64_t need = c->rows[row].need_bytes;
        lacks[row] = need > freed ? need - freed : 0;
        if (s->is_used[row])
            most = lacks[row] > most ? lacks[row] : most;
    }
    return most;
}

/* Uses the row that lacks most of those in a range; and those on both sides of it, that many levels
 * deep. */
static bool use_worst_rows(search *s, const uint64_t *lacks, uint32_t first, uint32_t end,
                           uint32_t levels)
{
    uint32_t worst = end;
    for (uint32_t row = first; row < end; row++)
        if (!s->is_used[row] && lacks[row] > (worst < end ? lacks[worst] : 0))
            worst = row;
    if (worst == end)
        return false;
    s->is_used[worst] = true;
    if (levels > 0) {
        use_worst_rows(s, lacks, first, worst, levels - 1);
        use_worst_rows(s, lacks, worst + 1, end, levels - 1);
    }
    return true;
}

/* More rows for the next round, the more the longer it takes. If there are none, the plan may lack
 * what the solver takes for nothing, and all rows want more. False when it lacks nothing. */
static bool ask_more(search *s, uint32_t round)
{
    uint64_t *lacks = s->candidates.scratch, most = find_lacks(s, lacks);
    if (use_worst_rows(s, lacks, 0, s->candidates.row_count,
                       round < MOST_LEVELS ? round : MOST_LEVELS))
        return true;
    s->more_bytes += most > 0 ? most + 1 : 0;
    return most > 0;
}

static ms_status try_counts(search *s, ms_error *err)
{
    bool goes_on = s->candidates.count > 0;
    for (uint32_t round = 0; round < MOST_ROUNDS && goes_on && !is_done(s); round++) {
        ms_counts counts = {.parts = s->tried};
        ms_counts_options options = {
            .is_used = s->is_used,
            .more_bytes = s->more_bytes,
            .enough_ms = s->plan->recompute_ms * (1 - s->candidates.task->gap),
            .limit = &s->limit,
        };
        if (ms_limit_reached(&s->limit))
            break;
        ms_error inner = {.status = MS_OK};
        ms_status status = ms_counts_plan(s->arena, &s->candidates, &options, &counts, &inner);
        if (status == MS_ERR_NOMEM)
            return ms_fail(err, status, "%s", inner.text);
        if (status != MS_OK) /* the solver gave up; there is a plan, and its gap is known */
            break;
        double bound = s->more_bytes == 0 ? counts.bound_ms : -INFINITY;
        goes_on = counts.has_plan && ask_more(s, round);
        if (counts.has_plan)
            keep_tried(s);
        raise_bound(s, bound);
    }
    return MS_OK;
}

static void set_outcome(search *s)
{
    ms_checkpoint_plan *plan = s->plan;
    if (plan->bound_ms > plan->recompute_ms)
        plan->bound_ms = plan->recompute_ms;
    plan->outcome = is_done(s)                    ? MS_PLAN_OPTIMAL
                    : ms_limit_stopped(&s->limit) ? MS_PLAN_STOPPED
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
    if (try_prices(s) != MS_OK)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for the plan");
    ms_status status = try_counts(s, err);
    set_outcome(s);
    return status;
}

ms_status ms_checkpoints_plan(ms_arena *arena, const ms_checkpoint_task *task,
                              ms_checkpoint_plan *plan, ms_error *err)
{
    *plan = (ms_checkpoint_plan){.outcome = MS_PLAN_OPTIMAL};
    search s = {.arena = arena, .limit = ms_limit_begin(task->time_limit_s, task->stop)};
    s.plan = plan;
    s.tried = ms_arena_array(arena, uint32_t, task->graph->count);
    plan->parts = ms_arena_array(arena, uint32_t, task->graph->count);
    if (!s.tried || !plan->parts || ms_candidates_prepare(arena, task, &s.candidates) != MS_OK)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for the plan");
    return run(&s, err);
}
