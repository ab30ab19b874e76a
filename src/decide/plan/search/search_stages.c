/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/plan/search/search_stages.h"

#include <math.h>

#include "decide/plan/choose/choose.h"
#include "decide/plan/choose/cost_passes.h"
#include "decide/plan/costs/collectives.h"
#include "decide/plan/costs/measure.h"
#include "decide/plan/costs/option_list.h"
#include "decide/plan/search/search_local.h"
#include "decide/plan/search/simulate.h"
#include "input/config/model/model_config.h"
#include "input/config/run/run_config.h"
#include "input/config/run/treated_layer.h"
#include "input/config/treatment/row.h"
#include "run/simulate/variation.h"

/* ---- search stages ---- */

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

/* Every plan is compared with one that checkpoints all layers, also a plan without checkpoints. */
static ms_status check_checkpoints(const ms_step_task *task, ms_error *err)
{
    const ms_treated_layer layer = ms_treated_layer_of(task->model, task->run, 0);
    const ms_treatment checkpoint = {.kind = MS_TREAT_CHECKPOINT};
    ms_refusal refusal;
    if (!ms_treatment_is_refused(&layer, &checkpoint, &refusal))
        return MS_OK;
    return ms_fail(err, MS_ERR_CONFIG, "%s", refusal.text);
}

ms_status ms_search_prepare(ms_search *s, const ms_target *target)
{
    s->techniques = s->task->techniques & target->techniques &
                    ~ms_techniques_impossible(s->task->model, s->task->run);
    s->costs.layer_count = (uint32_t)s->task->model->num_layers;
    ms_search_set_capacity(s);
    ms_status status = check_checkpoints(s->task, s->err);
    return status == MS_OK ? ms_search_baselines(s) : status;
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

/* ---- search min budget ---- */

enum { LEAST_HALVINGS = 6, MOST_LOWEST = 3 };

static uint64_t device_bytes(const ms_run_config *run, uint64_t reserved_bytes)
{
    return ms_budget_device_bytes(run->device, reserved_bytes).expected;
}

/* A run that is simulated once and measured under one budget after the other. It stays where it was
 * made. */
typedef struct trial {
    ms_variation variation;
    ms_simulated simulated;
} trial;

static ms_status begin_trial(ms_search *s, const ms_treatments *treatments, trial *t)
{
    t->variation = ms_vary_run(s->task->model, s->task->run, s->arena);
    t->variation.run.treatments = *treatments;
    const ms_job job = ms_variation_job(&t->variation);
    s->plan->simulations++;
    return ms_simulate(&job, MS_SIMULATE_EVENTS, &t->simulated, s->err);
}

/* *yes: whether it fits under the budget, evaluations aside. */
static ms_status try_budget(ms_search *s, trial *t, uint64_t budget, bool *yes)
{
    ms_budget_set(&t->variation.run, budget);
    ms_status status = ms_simulate_again(&t->simulated, &t->variation.run, s->err);
    *yes = ms_reason_fits(t->simulated.judgement.reason) &&
           (ms_search_takes_retries(s) || t->simulated.usage.retries == 0);
    return status;
}

/* What the device shows with what the allocator took at most. */
static uint64_t wanted_bytes(const trial *t)
{
    return device_bytes(&t->variation.run, ms_simulated_wanted_bytes(&t->simulated));
}

/* `fits`: a budget that does, or UINT64_MAX. */
static ms_status find_smallest(ms_search *s, trial *t, uint64_t live_bytes, uint64_t fits,
                               uint64_t *budget)
{
    uint64_t low = device_bytes(&t->variation.run, live_bytes);
    ms_budget_lift(&t->variation.run);
    ms_status status = ms_simulate_again(&t->simulated, &t->variation.run, s->err);
    *budget = wanted_bytes(t);
    *budget = fits < *budget ? fits : *budget;
    for (int i = 0; i < LEAST_HALVINGS && status == MS_OK && low < *budget; i++) {
        uint64_t middle = low + (*budget - low) / 2;
        bool yes;
        status = try_budget(s, t, middle, &yes);
        if (yes) /* and with what it took at most it would do the same */
            *budget = wanted_bytes(t);
        else
            low = middle + 1;
    }
    return status;
}

/* What an evaluation between steps reserves where nothing limits it: with so much it runs. */
static ms_status evaluation_budget(ms_search *s, const ms_treatments *treatments, uint64_t *budget)
{
    ms_variation v = ms_vary_run(s->task->model, s->task->run, s->arena);
    const ms_job job = ms_variation_job(&v);
    ms_simulated simulated;
    *budget = 0;
    if (s->task->run->training.eval_batch == 0)
        return MS_OK;
    v.run.treatments = *treatments;
    ms_budget_lift(&v.run);
    s->plan->simulations++;
    ms_status status = ms_simulate(&job, MS_SIMULATE_SUMMARY, &simulated, s->err);
    if (status != MS_OK)
        return status;
    *budget = device_bytes(&v.run, simulated.summary.evaluation_reserved_bytes);
    ms_simulated_free(&simulated);
    return MS_OK;
}

/* For the evaluation as well. */
static ms_status raise_for_evaluation(ms_search *s, const ms_treatments *treatments,
                                      uint64_t *budget)
{
    uint64_t least = 0;
    ms_status status = evaluation_budget(s, treatments, &least);
    *budget = least > *budget ? least : *budget;
    return status;
}

ms_status ms_search_smallest_budget(ms_search *s, const ms_treatments *treatments,
                                    uint64_t live_bytes, uint64_t *budget)
{
    trial t;
    ms_status status = begin_trial(s, treatments, &t);
    if (status != MS_OK)
        return status;
    status = find_smallest(s, &t, live_bytes, UINT64_MAX, budget);
    ms_simulated_free(&t.simulated);
    return status == MS_OK ? raise_for_evaluation(s, treatments, budget) : status;
}

/* What needs least so far. */
typedef struct least_plan {
    uint64_t budget_bytes;
    double ms; /* as counted */
    ms_treatments treatments;
} least_plan;

/* A little more memory is not worth being slower. */
static const double worth_a_slower_plan = 0.002;

/* An allocator may refuse with more memory what it does with less: a refusal is asked once more, a
 * little below. *fits: what fits of the two, or 0. */
static ms_status fits_within(ms_search *s, trial *t, uint64_t budget, uint64_t *fits)
{
    static const double shares[] = {1, 0.99};
    ms_status status = MS_OK;
    bool yes = false;
    for (size_t i = 0; i < sizeof shares / sizeof shares[0] && status == MS_OK && !yes; i++) {
        *fits = (uint64_t)((double)budget * shares[i]);
        status = try_budget(s, t, *fits, &yes);
    }
    *fits = yes ? *fits : 0;
    return status;
}

static bool is_less(const least_plan *least, uint64_t budget, double ms)
{
    double gain = 1 - (double)budget / (double)least->budget_bytes;
    return gain >= worth_a_slower_plan || ms < least->ms;
}

/* *budget: the smallest, if it is worth having. */
static ms_status try_least(ms_search *s, const ms_treatments *treatments, const ms_cost_sum *sum,
                           const least_plan *least, uint64_t *budget)
{
    trial t;
    uint64_t fits = least->budget_bytes;
    *budget = UINT64_MAX;
    ms_status status = begin_trial(s, treatments, &t);
    if (status != MS_OK)
        return status;
    if (fits != UINT64_MAX)
        status = fits_within(s, &t, least->budget_bytes, &fits);
    if (status == MS_OK && fits > 0)
        status = find_smallest(s, &t, sum->peak_bytes, fits, budget);
    ms_simulated_free(&t.simulated);
    return status;
}

static ms_status offer_least(ms_search *s, const ms_assignment *assignment, least_plan *least)
{
    ms_cost_sum sum = ms_assignment_sum(&s->costs, assignment);
    uint64_t budget = device_bytes(s->task->run, sum.peak_bytes);
    ms_treatments treatments;
    if (budget > least->budget_bytes || !is_less(least, budget, sum.step_ms))
        return MS_OK;
    ms_status status =
        ms_assignment_treatments(s->arena, &s->costs, assignment, &treatments, s->err);
    if (status == MS_OK)
        status = try_least(s, &treatments, &sum, least, &budget);
    if (status != MS_OK || budget == UINT64_MAX || !is_less(least, budget, sum.step_ms))
        return status;
    status = raise_for_evaluation(s, &treatments, &budget);
    if (status != MS_OK || !is_less(least, budget, sum.step_ms))
        return status;
    *least = (least_plan){budget, sum.step_ms, treatments};
    return ms_assignment_copy(s->arena, &s->costs, assignment, &s->best, s->err);
}

/* Every layer checkpointed alike. */
static ms_status offer_checkpoints(ms_search *s, uint32_t loss, least_plan *least)
{
    ms_assignment all;
    ms_status status = ms_assignment_keep_all(s->arena, &s->costs, &all, s->err);
    all.loss = loss;
    for (uint32_t o = 0; o < s->costs.option_count && status == MS_OK; o++) {
        const ms_treatment *t = &s->costs.options[o].treatment;
        if (t->kind != MS_TREAT_CHECKPOINT || !ms_treatment_allowed(t, s->techniques))
            continue;
        ms_assignment_fill(&s->costs, o, &all);
        status = offer_least(s, &all, least);
    }
    return status;
}

/* With one way to make the loss: the lowest peak, and the fastest of about that peak, and of a
 * little more; *count of them, fastest first. */
static ms_status choose_lowest(ms_search *s, uint32_t loss, ms_assignment assignments[MOST_LOWEST],
                               uint32_t *count)
{
    static const double above[] = {1.03, 1.0005};
    ms_choose_task task = ms_search_task(s, UINT64_MAX);
    ms_chosen lowest, fastest = {0};
    *count = 0;
    task.aim = MS_LEAST_PEAK;
    task.loss = loss;
    ms_status status = ms_choose_milp(s->arena, &task, &lowest, s->err);
    if (status != MS_OK || !lowest.has_assignment) /* the solver had too little time */
        return status;
    uint64_t level = ms_assignment_sum(&s->costs, &lowest.assignment).level_bytes;
    task.aim = MS_LEAST_TIME;
    for (size_t i = 0; i < sizeof above / sizeof above[0] && status == MS_OK; i++) {
        task.limit_bytes = (uint64_t)((double)level * above[i]);
        status = ms_choose_milp(s->arena, &task, &fastest, s->err);
        if (status == MS_OK && fastest.has_assignment)
            assignments[(*count)++] = fastest.assignment;
    }
    assignments[(*count)++] = lowest.assignment;
    return status;
}

/* These, and every layer alike. */
static ms_status try_loss(ms_search *s, uint32_t loss, least_plan *least)
{
    ms_assignment assignments[MOST_LOWEST];
    uint32_t count;
    ms_status status = choose_lowest(s, loss, assignments, &count);
    for (uint32_t i = 0; i < count && status == MS_OK; i++)
        status = offer_least(s, &assignments[i], least);
    return status == MS_OK ? offer_checkpoints(s, loss, least) : status;
}

/* Tries the assignments with the lowest peaks, if better ones failed because of the allocator. */
static ms_status search_lowest(ms_search *s)
{
    ms_status status = MS_OK;
    for (uint32_t l = 0; l < ms_search_loss_count(s) && status == MS_OK; l++) {
        ms_assignment assignments[MOST_LOWEST];
        uint32_t count;
        bool yes;
        status = choose_lowest(s, l, assignments, &count);
        for (uint32_t i = 0; i < count && status == MS_OK; i++)
            if (!s->has_best || ms_assignment_sum(&s->costs, &assignments[i]).step_ms < s->best_ms)
                status = ms_search_consider(s, &assignments[i], &yes);
    }
    return status;
}

/* From here on the allocator has less than the budget: an allocator may refuse with more memory
 * what it does with less. */
static ms_status hold(ms_search *s, const least_plan *least)
{
    const uint64_t budget_bytes = s->plan->budget_bytes;
    ms_run_config *run = ms_arena_array(s->arena, ms_run_config, 1);
    ms_step_task *task = ms_arena_array(s->arena, ms_step_task, 1);
    if (!run || !task)
        return ms_fail(s->err, MS_ERR_NOMEM, "out of memory for the plan");
    *run = *s->task->run;
    *task = *s->task;
    task->run = run;
    s->task = task;
    ms_budget_set(run, least->budget_bytes);
    ms_search_set_capacity(s);
    s->plan->budget_bytes = budget_bytes;
    s->plan->held_budget_bytes = least->budget_bytes;
    return MS_OK;
}

/* Should the budget be large enough after all, the plan is proven under it, or else held to what it
 * needs. */
static ms_status take_least(ms_search *s, const ms_assignment *assignment, const least_plan *least)
{
    bool yes = false;
    ms_status status = ms_search_consider(s, assignment, &yes);
    bool may_hold = s->task->planner == MS_PLANNER_MILP && !s->task->run->device->is_cpu;
    if (status != MS_OK || yes || !may_hold)
        return status;
    status = hold(s, least);
    return status == MS_OK ? ms_search_consider(s, assignment, &yes) : status;
}

static ms_status finish_least(ms_search *s, const least_plan *least)
{
    ms_run_config run = *s->task->run;
    const ms_assignment assignment = s->best;
    ms_budget_set(&run, least->budget_bytes);
    s->plan->simulations++;
    ms_status status = ms_step_plan_simulate(s->arena, s->task->model, &run, &least->treatments,
                                             &s->plan->plan, s->err);
    s->plan->least_budget_bytes = least->budget_bytes;
    /* It is the run's budget that counts. */
    s->plan->plan.reason =
        s->plan->plan.device_bytes > s->plan->budget_bytes ? MS_FIT_OVER_BUDGET : MS_FIT_NO_ROOM;
    s->plan->outcome = MS_PLAN_LIMIT;
    s->has_best = false;
    if (status == MS_OK && least->budget_bytes <= s->plan->budget_bytes)
        status = take_least(s, &assignment, least);
    return status == MS_OK && s->has_best ? ms_search_finish(s) : status;
}

/* One part in so many is what each descent tries to save. */
enum { MOST_DESCENTS = 8, DESCENT_PARTS = 400 };

/* *found: a change of the best so far that fits a little less. */
static ms_status search_lower(ms_search *s, uint64_t budget, ms_assignment *changed, bool *found)
{
    ms_run_config run = *s->task->run;
    ms_step_task task = *s->task;
    ms_step_plan plan;
    ms_search lower;
    ms_budget_set(&run, budget);
    task.run = &run;
    ms_search_fork(s, &task, s->arena, &plan, s->err, &lower);
    ms_search_set_capacity(&lower);
    ms_status status = ms_search_rescue(&lower);
    s->plan->simulations += plan.simulations;
    *found = lower.has_best;
    *changed = lower.best;
    return status;
}

/* An allocator may refuse what is all alike: what needs least is changed as long as that helps. */
static ms_status descend(ms_search *s, least_plan *least)
{
    ms_status status = MS_OK;
    bool found = true;
    for (int i = 0; i < MOST_DESCENTS && status == MS_OK && found; i++) {
        uint64_t before = least->budget_bytes;
        ms_assignment changed;
        if (ms_deadline_reached(&s->limit))
            break;
        status = search_lower(s, before - before / DESCENT_PARTS, &changed, &found);
        if (status == MS_OK && found)
            status = offer_least(s, &changed, least);
        found = least->budget_bytes < before;
    }
    return status;
}

ms_status ms_search_min_budget(ms_search *s)
{
    least_plan least = {.budget_bytes = UINT64_MAX, .ms = INFINITY};
    ms_status status = MS_OK;
    for (uint32_t l = 0; l < ms_search_loss_count(s) && status == MS_OK; l++)
        status = ms_deadline_reached(&s->limit) ? MS_OK : try_loss(s, l, &least);
    if (status == MS_OK && least.budget_bytes != UINT64_MAX)
        status = descend(s, &least);
    if (status != MS_OK || least.budget_bytes == UINT64_MAX)
        return status;
    return finish_least(s, &least);
}

ms_status ms_search_min_budget_of(ms_search *s, const ms_assignment *assignments, size_t stride,
                                  uint32_t count)
{
    least_plan least = {.budget_bytes = UINT64_MAX, .ms = INFINITY};
    ms_status status = MS_OK;
    for (uint32_t i = 0; i < count && status == MS_OK && !ms_deadline_reached(&s->limit); i++) {
        const ms_assignment *assignment =
            (const ms_assignment *)((const char *)assignments + i * stride);
        if (least.budget_bytes == UINT64_MAX ||
            ms_assignment_sum(&s->costs, assignment).peak_bytes < least.budget_bytes)
            status = offer_least(s, assignment, &least);
    }
    if (status != MS_OK || least.budget_bytes == UINT64_MAX)
        return status;
    return finish_least(s, &least);
}

/* ---- search heuristics ---- */

enum { MOST_UNIFORM = 8 };

/* All layers checkpointed, if that fits and is faster than the best so far. */
static ms_status search_checkpoints(ms_search *s)
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

/* If nothing has fit so far: the first kind of checkpoint that fits when used in all layers. */
static ms_status search_any_checkpoints(ms_search *s)
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

/* The same for this assignment and for those of the heuristics. */
static ms_status search_simpler(ms_search *s)
{
    ms_chosen chosen;
    bool yes;
    ms_status status = ms_search_try(s, ms_choose_greedy, &chosen, &yes);
    if (status == MS_OK)
        status = try_uniform(s);
    return status == MS_OK ? search_checkpoints(s) : status;
}

/* Beyond this share of the bound it is worth looking elsewhere. */
static const double worth_lowest = 0.03;

ms_status ms_search_restart(ms_search *s, double bound_ms)
{
    bool is_far = s->has_best && s->best_ms > bound_ms * (1 + worth_lowest);
    ms_status status = !s->is_one_of_many && is_far ? search_lowest(s) : MS_OK;
    return status == MS_OK ? search_simpler(s) : status;
}

/* ---- search whole ---- */

static bool needs_simpler(const ms_search *s)
{
    return !s->has_best && !s->is_ruled_out;
}

/* Nothing was proven to fit so far, though something may. */
static ms_status find_any(ms_search *s)
{
    ms_chosen chosen;
    ms_status status = needs_simpler(s) ? search_any_checkpoints(s) : MS_OK;
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
