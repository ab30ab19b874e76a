/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/plan/search/simulate.h"

#include <inttypes.h>
#include <string.h>

#include "base/threads.h"
#include "input/config/model/model_config.h"
#include "input/config/treatment/treatment.h"
#include "decide/plan/search/search.h"
#include "run/simulate/variation.h"

static void read_figures(const ms_simulated *simulated, ms_step_figures *f)
{
    const ms_summary *s = &simulated->summary;
    f->peak_bytes = s->peak_memory_bytes;
    f->reserved_bytes = s->reserved_memory_bytes;
    f->device_bytes = s->expected_device_bytes;
    f->high_device_bytes = s->high_device_bytes;
    f->host_bytes = s->host_memory_bytes;
    f->retries = s->allocator_retries;
    f->step_retries = simulated->usage.steady_retries;
    f->step_retry_bytes = simulated->usage.steady_retry_bytes;
    f->step_peak_phase = (ms_phase)simulated->peak.phase;
    f->peak_phase = s->evaluation_reserved_bytes > s->reserved_memory_bytes
                        ? MS_PHASE_EVALUATION
                        : (ms_phase)simulated->peak.phase;
    f->reason = s->verdict_reason;
    f->time = simulated->profile.time;
    memcpy(f->category_bytes, simulated->peak.category_bytes, sizeof f->category_bytes);
}

bool ms_step_figures_judge(ms_step_figures *f, uint64_t budget_bytes)
{
    if (f->reason != MS_FIT_UPPER_END && f->reason != MS_FIT_WITHIN_BUDGET)
        return false;
    f->reason = f->high_device_bytes > budget_bytes ? MS_FIT_UPPER_END : MS_FIT_WITHIN_BUDGET;
    return true;
}

ms_status ms_step_plan_simulate(ms_arena *arena, const ms_model_config *model,
                                const ms_run_config *run, const ms_treatments *treatments,
                                ms_step_figures *figures, ms_error *err)
{
    ms_variation v = ms_vary_run(model, run, arena);
    ms_simulated simulated;
    v.run.treatments = *treatments;
    *figures = (ms_step_figures){.treatments = *treatments};
    figures->treat = ms_treatments_text(treatments, model->num_layers, arena);
    if (!figures->treat)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for a plan's text");
    const ms_job job = ms_variation_job(&v);
    ms_status status = ms_simulate(&job, MS_SIMULATE_SUMMARY, &simulated, err);
    if (status != MS_OK)
        return status;
    read_figures(&simulated, figures);
    ms_simulated_free(&simulated);
    return MS_OK;
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

ms_status ms_search_baselines(ms_search *s)
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
        ms_threads_run(2, simulate_one, tasks);
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

/* The operators of neighbours are often the same list. */
static ms_status copy_kept_ops(ms_arena *arena, uint64_t num_layers, ms_treatment *layers,
                               ms_error *err)
{
    const ms_kept_op *copied = NULL;
    for (uint64_t i = 0; i < num_layers; i++) {
        ms_treatment *t = &layers[i];
        const ms_kept_op *from = t->kept_ops;
        if (i > 0 && from && from == copied) {
            t->kept_ops = layers[i - 1].kept_ops;
        } else if (from && t->kept_count > 0) {
            ms_kept_op *kept = ms_arena_array(arena, ms_kept_op, t->kept_count);
            if (!kept)
                return ms_fail(err, MS_ERR_NOMEM, "out of memory for kept operators");
            memcpy(kept, from, t->kept_count * sizeof *kept);
            t->kept_ops = kept;
        }
        copied = from;
    }
    return MS_OK;
}

ms_status ms_step_figures_copy(ms_arena *arena, uint64_t num_layers, const ms_step_figures *from,
                               ms_step_figures *to, ms_error *err)
{
    ms_treatment *layers = ms_arena_array(arena, ms_treatment, num_layers);
    *to = *from;
    to->treat = ms_arena_strdup(arena, from->treat);
    if (!layers || !to->treat)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for %" PRIu64 " layers", num_layers);
    memcpy(layers, from->treatments.layers, num_layers * sizeof *layers);
    to->treatments.layers = layers;
    return copy_kept_ops(arena, num_layers, layers, err);
}

bool ms_step_plan_accepts(const ms_step_task *task, const ms_step_figures *f)
{
    const uint64_t budget_bytes = task->run->budget_bytes;
    if (!ms_reason_fits(f->reason) || (f->retries > 0 && !task->allows_retries))
        return false;
    return budget_bytes == 0 ||
           f->device_bytes + ms_plan_margin_bytes(&task->margin) <= budget_bytes;
}

void ms_step_plan_claim(const ms_step_task *task, ms_step_plan *plan)
{
    plan->outcome = plan->gap <= task->gap ? MS_PLAN_OPTIMAL : MS_PLAN_LIMIT;
}
