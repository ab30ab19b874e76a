/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/plan/rank_plan.h"

#include <math.h>

#include "base/error.h"
#include "input/config/run/run_config.h"
#include "decide/plan/needs/needs.h"
#include "decide/plan/search/simulate.h"
#include "run/simulate/ranks.h"
#include "run/simulate/variation.h"

ms_status ms_rank_plan_begin(ms_arena *arena, const ms_model_config *model, ms_run_config *run,
                             ms_notes *notes, ms_error *err)
{
    ms_variation v = ms_vary_run(model, run, arena);
    const ms_treatment keep = {.kind = MS_TREAT_KEEP};
    if (run->parallel.layout.kind == MS_PARALLEL_NONE && run->padding.given != MS_PADDING_UNKNOWN)
        return MS_OK;
    if (!ms_vary_all_layers(&v, &keep, 0))
        return ms_fail(err, MS_ERR_NOMEM, "no memory for the ranks of a plan");
    ms_status status = ms_ranks_settle_noted(arena, model, &v.run, notes, err);
    run->parallel = v.run.parallel;
    run->padding = v.run.padding;
    return status;
}

/* Sets the rank, and the padding, that need most under the plan; *other: not what was planned for.
 */
static ms_status settle(ms_arena *arena, const ms_step_task *task, ms_run_config *run,
                        const ms_step_plan *plan, bool *other, ms_error *err)
{
    const uint64_t planned = run->parallel.rank;
    const ms_padding padding = run->padding.simulated;
    *other = false;
    if (run->parallel.ranks.count <= 1 && run->padding.given != MS_PADDING_UNKNOWN)
        return MS_OK;
    ms_variation v = ms_vary_run(task->model, run, arena);
    v.run.treatments = plan->plan.treatments;
    ms_status status = ms_ranks_settle(arena, task->model, &v.run, err);
    if (status != MS_OK)
        return status;
    run->parallel = v.run.parallel;
    run->padding = v.run.padding;
    *other = run->parallel.rank != planned || run->padding.simulated != padding;
    return status;
}

/* Simulates all that the plan shows for the run's rank. What was tried with another run is left
 * out: it was of another rank. */
static ms_status simulate_again(ms_arena *arena, const ms_step_task *task, ms_step_plan *plan,
                                ms_error *err)
{
    ms_step_figures *figures[] = {&plan->plan, &plan->keep_all, &plan->checkpoint_all};
    ms_status status = MS_OK;
    for (size_t i = 0; i < sizeof figures / sizeof *figures && status == MS_OK; i++) {
        const ms_treatments treatments = figures[i]->treatments;
        status = ms_step_plan_simulate(arena, task->model, task->run, &treatments, figures[i], err);
    }
    for (uint32_t i = 0; i < plan->compared.count && status == MS_OK; i++) {
        ms_alternative *a = &plan->compared.items[i];
        const ms_treatments treatments = a->figures.treatments;
        if (a->has_figures)
            status =
                ms_step_plan_simulate(arena, task->model, task->run, &treatments, &a->figures, err);
    }
    plan->suggestions.count = 0;
    plan->needs = (ms_plan_needs){0};
    return status;
}

/* What is claimed of the rank and the budget that were planned for first holds for all ranks: a
 * step takes as long on each, but for the update of its shard. */
static void set_claims(const ms_step_task *task, double bound_ms, ms_step_plan *plan)
{
    const double ms = plan->plan.time.step_ms;
    plan->bound_ms = fmin(bound_ms, ms);
    plan->gap = ms > 0 ? (ms - plan->bound_ms) / ms : 0;
    ms_step_plan_claim(task, plan);
    plan->budget_bytes = task->run->budget_bytes;
    plan->held_budget_bytes = 0;
}

static ms_status solve(ms_arena *arena, const ms_step_task *task, ms_run_config *run,
                       ms_step_plan *plan, ms_error *err)
{
    static const double lowered[] = {0, 0.002, 0.005, 0.01, 0.02};
    const uint64_t budget = run->budget_bytes;
    double bound_ms = INFINITY;
    for (size_t i = 0; i < sizeof lowered / sizeof *lowered; i++) {
        bool other = false;
        ms_error reason = {0};
        if (i > 0)
            ms_budget_set(run, budget - (uint64_t)(lowered[i] * (double)budget));
        ms_status status = ms_margin_plan_solve(arena, task, plan, &reason);
        if (i > 0)
            ms_budget_set(run, budget);
        if (status == MS_ERR_INFEASIBLE && i > 0)
            break;
        if (status != MS_OK)
            return ms_fail(err, status, "%s", reason.text);
        status = settle(arena, task, run, plan, &other, err);
        if (status != MS_OK || (i == 0 && !other))
            return status;
        bound_ms = i == 0 ? plan->bound_ms : bound_ms;
        status = simulate_again(arena, task, plan, err);
        set_claims(task, bound_ms, plan);
        if (status != MS_OK || ms_step_plan_accepts(task, &plan->plan))
            return status;
        ms_step_plan_free(plan);
    }
    return ms_fail(err, MS_ERR_USAGE,
                   "rank: no plan was found that fits every rank; plan for one rank with --rank N");
}

/* Where nobody knows whether batches are padded, operators that are kept by name may be those of
 * one kind of batch alone, so that the other cannot be simulated: then there are plans without. */
ms_status ms_rank_plan_solve(ms_arena *arena, const ms_step_task *task, ms_run_config *run,
                             ms_step_plan *plan, ms_error *err)
{
    ms_error first = {0};
    ms_status status = solve(arena, task, run, plan, &first);
    if (ms_status_is_of_input(status) && run->padding.given == MS_PADDING_UNKNOWN &&
        (task->techniques & MS_MAY_SELECT)) {
        ms_step_task plain = *task;
        plain.techniques &= ~(uint32_t)MS_MAY_SELECT;
        ms_step_plan_free(plan);
        return solve(arena, &plain, run, plan, err);
    }
    ms_error_add(err, &first);
    return status;
}
