/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Choosing counts live bytes; the allocator needs more, how much more depends on the plan. So a
 * choice is run under the allocator with no more memory than there is; when it does not fit, the
 * limit for choosing is lowered, first in growing steps, then by halves.
 */
#include "plan/search.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/parallel.h"
#include "ledger/ledger.h"
#include "ledger/usage.h"
#include "step/step.h"

/* Attempts at lowering the limit, and halvings once something fits. */
enum { MOST_STEPS = 9, MOST_HALVINGS = 4 };

static bool is_stopped(const ms_step_task *task)
{
    return task->stop && *task->stop;
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

/* Whether the run fits under these treatments: allocations alone, under the allocator. */
static ms_status fits(const ms_model_config *model, const ms_run_config *run,
                      const ms_treatments *treatments, bool *yes, ms_error *err)
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
    ms_treatments treatments;
    ms_status status = ms_stack_treatments(s->arena, &s->stack, choice, &treatments, s->err);
    s->plan->simulations++;
    return status == MS_OK ? fits(s->task->model, s->task->run, &treatments, yes, s->err) : status;
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

static ms_status choose(ms_search *s, ms_chooser with, uint64_t limit_bytes, ms_chosen *chosen)
{
    const ms_choose_task task = {.stack = &s->stack,
                                 .aim = MS_LEAST_TIME,
                                 .limit_bytes = limit_bytes,
                                 .techniques = s->techniques,
                                 .gap = s->task->gap,
                                 .time_limit_s = s->task->time_limit_s};
    *chosen = (ms_chosen){0};
    return with(s->arena, &task, chosen, s->err);
}

/* One limit: whether there is a choice, and whether it was proven to fit. */
static ms_status try_limit(ms_search *s, ms_chooser with, uint64_t limit_bytes, ms_chosen *chosen,
                           bool *yes)
{
    *yes = false;
    ms_status status = choose(s, with, limit_bytes, chosen);
    if (status != MS_OK || !chosen->has_choice)
        return status;
    if (ms_stack_count(&s->stack, &chosen->choice).peak_bytes > s->limit_bytes)
        return MS_OK;
    return ms_search_consider(s, &chosen->choice, yes);
}

/* Lowers the limit until a choice fits, then raises it by halves. */
static ms_status lower_limit(ms_search *s, ms_chooser with)
{
    uint64_t fails = s->limit_bytes, works = 0;
    uint64_t step = s->limit_bytes / 400 + 1;
    ms_chosen chosen = {.has_choice = true};
    bool yes = false;
    ms_status status = MS_OK;
    for (int i = 0; i < MOST_STEPS && status == MS_OK && !yes && !is_stopped(s->task); i++) {
        if (step >= fails)
            break;
        uint64_t limit = fails - step;
        status = try_limit(s, with, limit, &chosen, &yes);
        if (yes)
            works = limit;
        else
            fails = limit;
        if (!chosen.has_choice)
            break;
        step *= 2;
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

ms_status ms_search_run(ms_search *s, ms_chooser with, ms_chosen *first)
{
    bool yes;
    ms_status status = try_limit(s, with, s->limit_bytes, first, &yes);
    if (status == MS_OK && first->has_choice && !yes)
        status = lower_limit(s, with);
    return status;
}

/* What the simpler ways find, when it counts as faster than the best so far. */
ms_status ms_search_simpler(ms_search *s)
{
    static const ms_chooser ways[] = {ms_choose_greedy, ms_choose_uniform};
    ms_status status = MS_OK;
    for (size_t i = 0; i < sizeof ways / sizeof ways[0] && status == MS_OK; i++) {
        ms_chosen chosen;
        bool yes;
        status = choose(s, ways[i], s->limit_bytes, &chosen);
        if (status == MS_OK && chosen.has_choice &&
            (!s->has_best ||
             ms_stack_count(&s->stack, &chosen.choice).step_ms < s->best_ms * (1 - 1e-9)))
            status = ms_search_consider(s, &chosen.choice, &yes);
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

void ms_search_set_gap(ms_search *s, const ms_chosen *chosen)
{
    double ms = s->plan->plan.time.step_ms;
    s->plan->bound_ms = fmin(chosen->bound, ms);
    s->plan->gap = ms > 0 ? fmax(0, (ms - chosen->bound) / ms) : 0;
    bool proven = chosen->outcome == MS_SOLVER_PROVEN && s->plan->gap <= s->task->gap + 1e-9;
    s->plan->outcome = proven ? MS_PLAN_OPTIMAL : MS_PLAN_LIMIT;
}

/* The smallest peak: chosen by counting, then run. */
ms_status ms_search_least(ms_search *s)
{
    const ms_choose_task task = {.stack = &s->stack,
                                 .aim = MS_LEAST_PEAK,
                                 .limit_bytes = UINT64_MAX,
                                 .techniques = s->techniques,
                                 .gap = s->task->gap,
                                 .time_limit_s = s->task->time_limit_s};
    ms_chosen chosen;
    ms_status status = ms_choose_milp(s->arena, &task, &chosen, s->err);
    if (status != MS_OK || !chosen.has_choice)
        return status;
    s->best = chosen.choice;
    status = ms_search_finish(s);
    if (status == MS_OK && s->plan->plan.fits) {
        s->has_best = true; /* the search had stopped short of it */
        s->plan->outcome = MS_PLAN_LIMIT;
    }
    return status;
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
