/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Choosing counts live bytes; the allocator needs more, how much more depends on the plan. So a
 * choice is run under the allocator with no more memory than there is; when it does not fit, the
 * limit for choosing is lowered by what the allocator wanted more, then raised by halves. What it
 * wants beside live bytes depends most on the largest tensors, and these are the loss's: each way
 * to make the loss is tried.
 */
#include "plan/search.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/limit.h"
#include "base/parallel.h"
#include "ledger/ledger.h"
#include "ledger/usage.h"
#include "step/step.h"

/* Attempts at lowering the limit, and halvings once something fits. */
enum { MOST_STEPS = 8, MOST_HALVINGS = 2, LEAST_HALVINGS = 7 };

static bool is_stopped(const ms_step_task *task)
{
    return ms_stop_asked(task->stop);
}

/* ---- simulating ---- */

static void read_figures(const ms_ledger *ledger, ms_step_figures *f)
{
    const ms_summary *s = &ledger->summary;
    f->peak_bytes = s->peak_memory_bytes;
    f->reserved_bytes = s->reserved_memory_bytes;
    f->device_bytes = s->expected_device_bytes;
    f->host_bytes = s->host_memory_bytes;
    f->retries = s->allocator_retries;
    f->peak_phase = (ms_phase)ledger->peak.phase;
    f->fits = s->fits;
    f->time = ledger->profile.time;
    memcpy(f->category_bytes, ledger->peak.category_bytes, sizeof f->category_bytes);
}

ms_status ms_step_plan_simulate(ms_arena *arena, const ms_model_config *model,
                                const ms_run_config *run, const ms_treatments *treatments,
                                ms_step_figures *figures, ms_error *err)
{
    ms_run_config treated = *run;
    ms_simulation simulation;
    ms_usage usage = {0};
    ms_ledger ledger;
    treated.treatments = *treatments;
    treated.detail = MS_STEPS_ALL;
    *figures = (ms_step_figures){.treatments = *treatments};
    figures->treat = ms_treatments_text(treatments, model->num_layers, arena);
    if (!figures->treat)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for a plan's text");
    ms_status status = ms_step_simulate(model, &treated, &simulation, err);
    if (status != MS_OK)
        return status;
    status = ms_usage_measure(&simulation.trace, &treated.allocator, &usage, err);
    if (status == MS_OK)
        status =
            ms_ledger_build(model, &treated, &simulation, &usage, MS_FOLD_LAYERS, &ledger, err);
    if (status == MS_OK) {
        read_figures(&ledger, figures);
        ms_ledger_free(&ledger);
    }
    ms_usage_free(&usage);
    ms_simulation_free(&simulation);
    return status;
}

static bool usage_fits(const ms_run_config *run, const ms_usage *usage)
{
    uint64_t budget = run->has_budget ? run->budget_bytes : ms_device_usable_bytes(run->device);
    uint64_t device = usage->peak_reserved_bytes + run->device->context_expected_bytes;
    return !usage->out_of_memory && (budget == 0 || device <= budget);
}

/* Whether the run fits under these treatments: allocations alone, under the allocator. If not,
 * *wanted is what the allocator took once it was allowed to. */
static ms_status fits(const ms_model_config *model, const ms_run_config *run,
                      const ms_treatments *treatments, bool *yes, uint64_t *wanted, ms_error *err)
{
    static const ms_step_detail details[] = {MS_STEPS_LEAN, MS_STEPS_ALL};
    ms_run_config treated = *run;
    treated.treatments = *treatments;
    ms_status status = MS_OK;
    bool repeats = false;
    for (int i = 0; i < 2 && status == MS_OK && !repeats; i++) {
        ms_simulation simulation;
        ms_usage usage = {0};
        treated.detail = details[i];
        repeats = i == 1;
        status = ms_step_simulate(model, &treated, &simulation, err);
        if (status != MS_OK)
            return status;
        status = i == 0 ? ms_usage_measure_lean(&simulation.trace, &treated.allocator, &usage,
                                                &repeats, err)
                        : ms_usage_measure(&simulation.trace, &treated.allocator, &usage, err);
        *yes = status == MS_OK && usage_fits(run, &usage);
        *wanted = usage.peak_reserved_bytes;
        ms_usage_free(&usage);
        ms_simulation_free(&simulation);
    }
    return status;
}

/* Several simulations side by side. */
typedef struct simulation_task {
    const ms_model_config *model;
    const ms_run_config *run;
    ms_arena *arena;
    ms_treatments treatments;
    ms_step_figures *figures;
    ms_status status;
    ms_error err;
} simulation_task;

static void simulate_one(void *context, uint32_t index)
{
    simulation_task *t = &((simulation_task *)context)[index];
    t->status =
        ms_step_plan_simulate(t->arena, t->model, t->run, &t->treatments, t->figures, &t->err);
}

/* Every layer kept, and every layer checkpointed: what a plan is compared with. */
static ms_status ms_search_extremes(ms_search *s)
{
    static const ms_treatment_kind kinds[] = {MS_TREAT_KEEP, MS_TREAT_CHECKPOINT};
    ms_step_figures *figures[] = {&s->plan->keep_all, &s->plan->checkpoint_all};
    simulation_task tasks[2] = {0};
    ms_status status = MS_OK;
    uint64_t layers = s->task->model->num_layers;
    for (uint32_t i = 0; i < 2 && status == MS_OK; i++) {
        ms_treatment *treatments = ms_arena_array(s->arena, ms_treatment, layers);
        /* Arenas serve one thread. */
        ms_arena *arena = i == 0 ? s->arena : ms_arena_create(0);
        if (!treatments || !arena)
            status = ms_fail(s->err, MS_ERR_NOMEM, "out of memory for %" PRIu64 " layers", layers);
        for (uint64_t k = 0; treatments && k < layers; k++)
            treatments[k].kind = kinds[i];
        tasks[i] = (simulation_task){.model = s->task->model,
                                     .run = s->task->run,
                                     .arena = arena,
                                     .treatments = {treatments, 0},
                                     .figures = figures[i]};
    }
    if (status == MS_OK)
        ms_parallel_run(2, simulate_one, tasks);
    for (uint32_t i = 0; i < 2 && status == MS_OK; i++) {
        status = tasks[i].status;
        if (status != MS_OK && s->err && s->err->status == MS_OK)
            *s->err = tasks[i].err;
    }
    if (status == MS_OK && tasks[1].figures->treat) {
        figures[1]->treat = ms_arena_strdup(s->arena, figures[1]->treat);
        if (!figures[1]->treat)
            status = ms_fail(s->err, MS_ERR_NOMEM, "out of memory for a plan's text");
    }
    ms_arena_free(tasks[1].arena);
    s->plan->simulations += 2;
    return status;
}

/* ---- choosing and proving ---- */

static ms_status prove(ms_search *s, const ms_stack_choice *choice, bool *yes)
{
    s->wanted_bytes = 0;
    ms_treatments treatments;
    ms_status status = ms_stack_treatments(s->arena, &s->stack, choice, &treatments, s->err);
    s->plan->simulations++;
    return status == MS_OK
               ? fits(s->task->model, s->task->run, &treatments, yes, &s->wanted_bytes, s->err)
               : status;
}

/* Keeps the choice if it fits and is faster than the best so far. */
ms_status ms_search_consider(ms_search *s, const ms_stack_choice *choice, bool *yes)
{
    ms_status status = prove(s, choice, yes);
    double ms = ms_stack_count(&s->stack, choice).step_ms;
    if (status == MS_OK && *yes && (!s->has_best || ms < s->best_ms)) {
        s->has_best = true;
        s->best = *choice;
        s->best_ms = ms;
    }
    return status;
}

static ms_choose_task choose_task(const ms_search *s, uint64_t limit_bytes)
{
    return (ms_choose_task){.stack = &s->stack,
                            .aim = MS_LEAST_TIME,
                            .limit_bytes = limit_bytes,
                            .techniques = s->techniques,
                            .loss = s->loss,
                            .gap = s->task->gap,
                            .time_limit_s = s->task->time_limit_s,
                            .stop = s->task->stop};
}

/* One limit: whether there is a choice, and whether it was proven to fit. What would not be the
 * best is not proven. */
static ms_status try_limit(ms_search *s, ms_chooser with, uint64_t limit_bytes, ms_chosen *chosen,
                           bool *yes)
{
    const ms_choose_task task = choose_task(s, limit_bytes);
    *yes = false;
    *chosen = (ms_chosen){0};
    s->wanted_bytes = 0;
    ms_status status = with(s->arena, &task, chosen, s->err);
    if (status != MS_OK || !chosen->has_choice)
        return status;
    ms_stack_sum sum = ms_stack_count(&s->stack, &chosen->choice);
    if (s->has_best && sum.step_ms >= s->best_ms) {
        *yes = true; /* as good as: lowering the limit further is no use */
        return MS_OK;
    }
    if (sum.peak_bytes > s->limit_bytes) {
        s->wanted_bytes = sum.peak_bytes;
        return MS_OK;
    }
    status = ms_search_consider(s, &chosen->choice, yes);
    if (status == MS_OK && *yes)
        s->is_best_proven = with == ms_choose_milp && chosen->outcome == MS_SOLVER_PROVEN;
    return status;
}

/* Lowers the limit until a choice fits, then raises it by halves. */
static ms_status lower_limit(ms_search *s, ms_chooser with)
{
    uint64_t fails = s->limit_bytes, works = 0, least_step = s->limit_bytes / 400 + 1;
    ms_chosen chosen = {.has_choice = true};
    bool yes = false;
    ms_status status = MS_OK;
    for (int i = 0; i < MOST_STEPS && status == MS_OK && !yes && !is_stopped(s->task); i++) {
        uint64_t step = s->wanted_bytes > s->limit_bytes ? s->wanted_bytes - s->limit_bytes : 0;
        step = step > least_step ? step : least_step;
        if (step >= fails || !chosen.has_choice)
            break;
        uint64_t limit = fails - step;
        status = try_limit(s, with, limit, &chosen, &yes);
        if (yes)
            works = limit;
        else
            fails = limit;
        least_step *= 2;
    }
    for (int i = 0; i < MOST_HALVINGS && status == MS_OK && works > 0 && !is_stopped(s->task);
         i++) {
        uint64_t middle = works + (fails - works) / 2;
        if (fails - works <= s->limit_bytes / 1000)
            break;
        status = try_limit(s, with, middle, &chosen, &yes);
        if (yes)
            works = middle;
        else
            fails = middle;
    }
    return status;
}

static ms_status search_loss(ms_search *s, ms_chooser with, ms_chosen *first)
{
    bool yes;
    ms_status status = try_limit(s, with, s->limit_bytes, first, &yes);
    if (status == MS_OK && first->has_choice && !yes)
        status = lower_limit(s, with);
    return status;
}

ms_status ms_search_plainly(ms_search *s, ms_chooser with, ms_chosen *first)
{
    s->loss = MS_ANY_LOSS;
    return search_loss(s, with, first);
}

/* The search with one way to make the loss, alone in its thread. */
typedef struct branch {
    ms_search search;
    ms_step_plan plan; /* counts simulations, nothing else */
    ms_chooser with;
    ms_status status;
    ms_error err;
} branch;

static void search_branch(void *context, uint32_t index)
{
    branch *b = &((branch *)context)[index];
    ms_chosen chosen;
    b->status = search_loss(&b->search, b->with, &chosen);
}

/* The best of the branches becomes the search's. */
static ms_status join_branch(ms_search *s, const branch *b)
{
    s->plan->simulations += b->plan.simulations;
    if (b->status != MS_OK && s->err && s->err->status == MS_OK)
        *s->err = b->err;
    if (b->status != MS_OK || !b->search.has_best ||
        (s->has_best && b->search.best_ms >= s->best_ms))
        return b->status;
    s->has_best = true;
    s->best_ms = b->search.best_ms;
    s->is_best_proven = b->search.is_best_proven;
    return ms_stack_copy(s->arena, &s->stack, &b->search.best, &s->best, s->err);
}

static ms_status search_branches(ms_search *s, ms_chooser with)
{
    uint32_t count = s->techniques & MS_MAY_CHUNK_LOSS ? s->stack.loss_count : 1;
    branch branches[MS_STACK_MOST_LOSSES];
    ms_status status = MS_OK;
    for (uint32_t l = 0; l < count; l++) {
        branch *b = &branches[l];
        *b = (branch){.search = *s, .with = with};
        b->search.loss = l;
        b->search.arena = ms_arena_create(0);
        b->search.plan = &b->plan;
        b->search.err = &b->err;
        if (!b->search.arena)
            status = ms_fail(s->err, MS_ERR_NOMEM, "out of memory for the search");
    }
    if (status == MS_OK)
        ms_parallel_run(count, search_branch, branches);
    for (uint32_t l = 0; l < count; l++) {
        if (status == MS_OK)
            status = join_branch(s, &branches[l]);
        ms_arena_free(branches[l].search.arena);
    }
    return status;
}

ms_status ms_search_run(ms_search *s, ms_chooser with, ms_chosen *first)
{
    bool yes;
    s->loss = MS_ANY_LOSS;
    ms_status status = try_limit(s, with, s->limit_bytes, first, &yes);
    if (status != MS_OK || !first->has_choice || s->has_best)
        return status;
    return search_branches(s, with);
}

/* What the simpler ways find, when it counts as faster than the best so far. */
ms_status ms_search_simpler(ms_search *s)
{
    static const ms_chooser ways[] = {ms_choose_greedy, ms_choose_uniform};
    ms_status status = MS_OK;
    for (size_t i = 0; i < sizeof ways / sizeof ways[0] && status == MS_OK; i++) {
        ms_chosen chosen;
        bool yes;
        status = try_limit(s, ways[i], s->limit_bytes, &chosen, &yes);
    }
    return status;
}

ms_status ms_search_finish(ms_search *s)
{
    ms_treatments treatments;
    ms_status status = ms_stack_treatments(s->arena, &s->stack, &s->best, &treatments, s->err);
    s->plan->simulations++;
    if (status == MS_OK)
        status = ms_step_plan_simulate(s->arena, s->task->model, s->task->run, &treatments,
                                       &s->plan->plan, s->err);
    return status;
}

void ms_search_set_gap(ms_search *s, const ms_chosen *first)
{
    double ms = s->plan->plan.time.step_ms;
    /* Who was stopped before there was a bound knows at least this one. */
    double bound = isfinite(first->bound) ? first->bound : s->plan->keep_all.time.step_ms;
    s->plan->bound_ms = fmin(bound, ms);
    s->plan->gap = ms > 0 ? fmax(0, (ms - bound) / ms) : 0;
    s->plan->outcome = s->is_best_proven ? MS_PLAN_OPTIMAL : MS_PLAN_LIMIT;
}

/* ---- the least that will do ---- */

void ms_search_set_budget(ms_run_config *run, uint64_t budget_bytes)
{
    uint64_t context = run->device->context_expected_bytes;
    run->has_budget = true;
    run->budget_bytes = budget_bytes;
    if (run->allocator.kind != MS_ALLOCATOR_RAW)
        run->allocator.capacity_bytes = budget_bytes > context ? budget_bytes - context : 1;
}

/* The smallest budget under which these treatments run: between what is live, and what the
 * allocator takes when nothing stops it. */
ms_status ms_search_smallest_budget(ms_search *s, const ms_treatments *treatments,
                                    uint64_t live_bytes, uint64_t *budget)
{
    ms_run_config run = *s->task->run;
    uint64_t low = live_bytes + run.device->context_expected_bytes, wanted;
    bool yes;
    ms_search_set_budget(&run, UINT64_MAX / 4);
    ms_status status = fits(s->task->model, &run, treatments, &yes, &wanted, s->err);
    *budget = wanted + run.device->context_expected_bytes;
    for (int i = 0; i < LEAST_HALVINGS && status == MS_OK && low < *budget; i++) {
        uint64_t middle = low + (*budget - low) / 2;
        ms_search_set_budget(&run, middle);
        status = fits(s->task->model, &run, treatments, &yes, &wanted, s->err);
        if (yes)
            *budget = middle;
        else
            low = middle + 1;
    }
    s->plan->simulations += 1 + LEAST_HALVINGS;
    return status;
}

/* What needs least so far. */
typedef struct least_plan {
    uint64_t budget_bytes;
    double ms; /* as counted */
    ms_treatments treatments;
} least_plan;

/* A little more memory is not worth being slower. */
static const double worth_a_slower_plan = 0.002;

static ms_status offer_least(ms_search *s, const ms_stack_choice *choice, least_plan *least)
{
    ms_stack_sum sum = ms_stack_count(&s->stack, choice);
    ms_treatments treatments;
    uint64_t budget, wanted;
    bool yes = true;
    ms_status status = ms_stack_treatments(s->arena, &s->stack, choice, &treatments, s->err);
    if (status == MS_OK && least->budget_bytes != UINT64_MAX) {
        ms_run_config run = *s->task->run;
        ms_search_set_budget(&run, least->budget_bytes);
        s->plan->simulations++;
        status = fits(s->task->model, &run, &treatments, &yes, &wanted, s->err);
    }
    if (status != MS_OK || !yes)
        return status;
    status = ms_search_smallest_budget(s, &treatments, sum.peak_bytes, &budget);
    double gain = 1 - (double)budget / (double)least->budget_bytes;
    if (status != MS_OK || (gain < worth_a_slower_plan && sum.step_ms >= least->ms))
        return status;
    *least = (least_plan){budget, sum.step_ms, treatments};
    return ms_stack_copy(s->arena, &s->stack, choice, &s->best, s->err);
}

/* With one way to make the loss: the lowest peak, the fastest of about that peak, and every layer
 * checkpointed. */
static ms_status try_least(ms_search *s, uint32_t loss, least_plan *least)
{
    ms_choose_task task = choose_task(s, UINT64_MAX);
    ms_chosen lowest, fastest = {0};
    task.aim = MS_LEAST_PEAK;
    task.loss = loss;
    ms_status status = ms_choose_milp(s->arena, &task, &lowest, s->err);
    if (status != MS_OK || !lowest.has_choice)
        return status;
    uint64_t live = ms_stack_count(&s->stack, &lowest.choice).peak_bytes;
    task.aim = MS_LEAST_TIME;
    task.limit_bytes = live + live / 100000;
    status = ms_choose_milp(s->arena, &task, &fastest, s->err);
    if (status == MS_OK && fastest.has_choice)
        status = offer_least(s, &fastest.choice, least);
    if (status == MS_OK)
        status = offer_least(s, &lowest.choice, least);
    if (status != MS_OK || !(s->techniques & MS_MAY_CHECKPOINT))
        return status;
    for (uint32_t i = 0; i < s->stack.layer_count; i++)
        lowest.choice.options[i] = 1;
    return offer_least(s, &lowest.choice, least);
}

static ms_status finish_least(ms_search *s, const least_plan *least)
{
    ms_run_config run = *s->task->run;
    ms_search_set_budget(&run, least->budget_bytes);
    s->plan->simulations++;
    ms_status status = ms_step_plan_simulate(s->arena, s->task->model, &run, &least->treatments,
                                             &s->plan->plan, s->err);
    s->plan->least_budget_bytes = least->budget_bytes;
    s->plan->plan.fits = least->budget_bytes <= s->plan->budget_bytes;
    s->has_best = s->plan->plan.fits; /* the search had stopped short of it */
    s->plan->outcome = MS_PLAN_LIMIT;
    return status;
}

ms_status ms_search_least(ms_search *s)
{
    least_plan least = {.budget_bytes = UINT64_MAX, .ms = INFINITY};
    ms_status status = MS_OK;
    bool chunks = (s->techniques & MS_MAY_CHUNK_LOSS) != 0;
    for (uint32_t l = 0; l < (chunks ? s->stack.loss_count : 1) && status == MS_OK; l++)
        status = is_stopped(s->task) ? MS_OK : try_least(s, l, &least);
    if (status != MS_OK || least.budget_bytes == UINT64_MAX)
        return status;
    return finish_least(s, &least);
}

ms_status ms_search_least_of(ms_search *s, const ms_stack_choice *choices, size_t stride,
                             uint32_t count)
{
    least_plan least = {.budget_bytes = UINT64_MAX, .ms = INFINITY};
    ms_status status = MS_OK;
    for (uint32_t i = 0; i < count && status == MS_OK && !is_stopped(s->task); i++) {
        const ms_stack_choice *choice =
            (const ms_stack_choice *)((const char *)choices + i * stride);
        if (least.budget_bytes == UINT64_MAX ||
            ms_stack_count(&s->stack, choice).peak_bytes < least.budget_bytes)
            status = offer_least(s, choice, &least);
    }
    if (status != MS_OK || least.budget_bytes == UINT64_MAX)
        return status;
    return finish_least(s, &least);
}

static uint64_t limit_of(const ms_run_config *run)
{
    uint64_t budget = run->has_budget ? run->budget_bytes : ms_device_usable_bytes(run->device);
    uint64_t context = run->device->context_expected_bytes;
    if (budget == 0)
        return UINT64_MAX;
    return budget > context ? budget - context : 0;
}

void ms_search_set_limit(ms_search *s)
{
    const ms_run_config *run = s->task->run;
    s->limit_bytes = limit_of(run);
    s->plan->budget_bytes =
        run->has_budget ? run->budget_bytes : ms_device_usable_bytes(run->device);
}

ms_status ms_search_begin(ms_search *s, const ms_target *target)
{
    const ms_step_task *task = s->task;
    s->techniques = task->techniques & target->techniques;
    s->limit_bytes = limit_of(task->run);
    s->plan->budget_bytes =
        task->run->has_budget ? task->run->budget_bytes : ms_device_usable_bytes(task->run->device);
    ms_status status = ms_search_extremes(s);
    if (status == MS_OK)
        status =
            ms_stack_measure(s->arena, task->model, task->run, s->techniques, &s->stack, s->err);
    s->plan->simulations += s->stack.simulations;
    return status;
}
