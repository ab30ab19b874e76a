/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/plan/search/search_stages.h"

#include <math.h>

#include "input/config/run/budget.h"
#include "decide/plan/choose/choose_heuristics.h"
#include "decide/plan/choose/cost_passes.h"
#include "decide/plan/costs/collectives.h"
#include "decide/plan/costs/measure.h"
#include "decide/plan/costs/option_list.h"
#include "decide/plan/search/search.h"
#include "decide/plan/search/simulate.h"

void ms_search_set_capacity(ms_search *s)
{
    const ms_run_config *run = s->task->run;
    uint64_t capacity = ms_budget_capacity(run->device, run->budget_bytes);
    s->capacity_bytes = capacity ? capacity : UINT64_MAX;
    s->proofs = NULL;
    s->plan->budget_bytes = run->budget_bytes;
}

ms_status ms_search_finish(ms_search *s)
{
    ms_treatments treatments;
    ms_status status = ms_assignment_treatments(s->arena, &s->costs, &s->best, &treatments, s->err);
    s->plan->simulations++;
    if (status == MS_OK)
        status = ms_step_plan_simulate(s->arena, s->task->model, s->task->run, &treatments,
                                       &s->plan->plan, s->err);
    return status;
}

ms_status ms_search_take_kept(ms_search *s)
{
    ms_status status = ms_assignment_keep_all(s->arena, &s->costs, &s->best, s->err);
    if (status != MS_OK)
        return status;
    s->has_best = true;
    s->retry_ms = s->plan->keep_all.time.retry_ms;
    s->best_ms = ms_assignment_sum(&s->costs, &s->best).step_ms + s->retry_ms;
    return MS_OK;
}

/* Of options next to nothing else, the fastest of each layer. */
static double bound_without_limit(const ms_search *s)
{
    const ms_cost_model *costs = &s->costs;
    double bound = INFINITY;
    for (uint32_t l = 0; l < ms_search_loss_count(s); l++)
        bound = fmin(bound, costs->losses[l].ms);
    for (uint32_t i = 0; i < costs->layer_count; i++) {
        double least = INFINITY;
        for (uint32_t o = 0; o < costs->option_count; o++)
            least = fmin(least, ms_layer_least_ms(costs, &costs->options[o].layers[i]));
        bound += least;
    }
    return bound;
}

void ms_search_set_gap(ms_search *s, const ms_chosen *first)
{
    double ms = s->plan->plan.time.step_ms;
    /* Who was stopped before there was a bound knows at least this one. */
    bool has_bound = isfinite(first->bound) && first->bound > 0;
    double bound = has_bound ? first->bound : bound_without_limit(s);
    /* Other ranks are waited for longer than the bound knows. */
    if (ms_collectives_keep_is_fastest(&s->costs))
        bound = fmax(bound, s->plan->keep_all.time.step_ms - s->plan->keep_all.time.retry_ms);
    s->plan->bound_ms = fmin(bound, ms);
    s->plan->gap = ms > 0 ? fmax(0, (ms - bound) / ms) : 0;
    s->plan->has_gap = true;
    ms_step_plan_claim(s->task, s->plan);
}

ms_status ms_search_prepare(ms_search *s, const ms_target *target)
{
    s->techniques = s->task->techniques & target->techniques &
                    ~ms_techniques_impossible(s->task->model, s->task->run);
    s->costs.layer_count = (uint32_t)s->task->model->num_layers;
    ms_search_set_capacity(s);
    return ms_search_baselines(s);
}

ms_status ms_search_measure(ms_search *s)
{
    const ms_step_task *task = s->task;
    ms_status status =
        ms_cost_model_measure(s->arena, task->model, task->run, s->techniques, &s->costs, s->err);
    s->plan->simulations += s->costs.simulations;
    s->plan->is_timed_by_layer = !s->costs.has_exact_waits;
    return status;
}

ms_status ms_search_begin(ms_search *s, const ms_target *target)
{
    ms_status status = ms_search_prepare(s, target);
    return status == MS_OK ? ms_search_measure(s) : status;
}
