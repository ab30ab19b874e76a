/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run/simulate/simulate.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "memscope/error.h"
#include "memscope/watch.h"
#include "run/simulate/summary.h"

/* ---- watch ---- */

struct ms_watch {
    atomic_bool stopped;
    atomic_uint_fast64_t done;
};

ms_watch *ms_watch_create(void)
{
    return calloc(1, sizeof(ms_watch));
}

void ms_watch_free(ms_watch *watch)
{
    free(watch);
}

uint64_t ms_watch_done(const ms_watch *watch)
{
    return watch ? atomic_load(&watch->done) : 0;
}

void ms_watch_stop(ms_watch *watch)
{
    if (watch)
        atomic_store(&watch->stopped, true);
}

ms_status ms_watch_check(const ms_watch *watch, ms_error *err)
{
    return watch && atomic_load(&watch->stopped) ? ms_fail(err, MS_ERR_STOPPED, "stopped") : MS_OK;
}

void ms_watch_count(ms_watch *watch)
{
    if (watch)
        atomic_fetch_add(&watch->done, 1);
}

/* ---- simulate ---- */

typedef ms_status (*measurer)(const ms_trace *trace, const ms_allocator_options *options,
                              ms_usage *usage, bool *repeats, ms_error *err);

/* How a detail is simulated. */
typedef struct way {
    ms_step_detail steps;
    measurer measure; /* of two steps; NULL: three are run, or nothing is measured */
    bool is_measured, is_evaluated;
} way;

static const way ways[] = {
    [MS_SIMULATE_MODEL] = {.steps = MS_STEPS_NONE},
    [MS_SIMULATE_EVENTS] = {MS_STEPS_LEAN, ms_usage_measure_fit, false, false},
    [MS_SIMULATE_PROFILE] = {.steps = MS_STEPS_TIMED},
    [MS_SIMULATE_FIT] = {MS_STEPS_LEAN, ms_usage_measure_fit, true, false},
    [MS_SIMULATE_USAGE] = {MS_STEPS_LEAN, ms_usage_measure_lean, true, false},
    [MS_SIMULATE_TIME] = {MS_STEPS_TIMED, ms_usage_measure_lean, true, true},
    [MS_SIMULATE_SUMMARY] = {MS_STEPS_TIMED, ms_usage_measure_blocks, true, true},
    [MS_SIMULATE_ALL] = {MS_STEPS_ALL, NULL, true, true},
};

static ms_status run_steps(ms_simulated *s, ms_step_detail steps, ms_error *err)
{
    bool is_measured = steps == MS_STEPS_LEAN || steps == MS_STEPS_TIMED;
    if (is_measured && s->job.run->parallel.has_static_graph)
        steps = MS_STEPS_ALL; /* DDP makes its buckets anew in the third step */
    s->is_whole = steps == MS_STEPS_ALL;
    return ms_step_simulate(s->job.model, s->job.run, steps, &s->simulation, err);
}

bool ms_job_has_limit(const ms_job *job)
{
    const ms_allocator_options *options = &job->run->allocator;
    return job->limit_bytes && options->kind == MS_ALLOCATOR_CUDA &&
           (!options->capacity_bytes || job->limit_bytes < options->capacity_bytes);
}

static bool has_limit(const ms_simulated *s)
{
    return !s->is_whole && ms_job_has_limit(&s->job);
}

bool ms_simulated_is_beyond(const ms_simulated *s)
{
    return has_limit(s) && s->usage.out_of_memory;
}

/* *repeats: whether the second step could be played again; if not the usage says nothing. */
static ms_status play(ms_simulated *s, const ms_run_config *run, bool *repeats, ms_error *err)
{
    const ms_trace *trace = &s->simulation.trace;
    ms_usage_free(&s->usage);
    *repeats = true;
    ms_allocator_options options = run->allocator;
    if (has_limit(s)) {
        options.capacity_bytes = s->job.limit_bytes;
        return ms_usage_measure_within(trace, &options, &s->usage, repeats, err);
    }
    if (s->is_lent)
        return ms_usage_measure_figures(trace, &run->allocator, &s->usage, err);
    return s->is_whole ? ms_usage_measure(trace, &run->allocator, &s->usage, err)
                       : ways[s->detail].measure(trace, &run->allocator, &s->usage, repeats, err);
}

/* What a slow device reserves depends on where the host waits, which is known of these. */
static bool is_slower_known(const ms_run_config *run)
{
    const ms_layout *layout = &run->parallel.layout;
    return layout->kind == MS_PARALLEL_FSDP1 ||
           (layout->kind == MS_PARALLEL_ZERO && layout->stage == 3);
}

static ms_status measure(ms_simulated *s, const ms_run_config *run, ms_error *err)
{
    bool repeats;
    ms_status status = play(s, run, &repeats, err);
    if (status == MS_OK && !repeats) {
        ms_usage_free(&s->usage);
        ms_simulation_free(&s->simulation);
        status = run_steps(s, MS_STEPS_ALL, err);
        if (status == MS_OK)
            status = play(s, run, &repeats, err);
    }
    if (status == MS_OK && is_slower_known(run))
        status = ms_usage_measure_slow(&s->simulation.trace, &run->allocator, !s->is_whole,
                                       &s->usage, err);
    return status;
}

/* What an evaluation between steps uses, unless it is known or there is none. */
static ms_status evaluate(ms_simulated *s, ms_error *err)
{
    const ms_job *job = &s->job;
    if (job->run->training.eval_batch == 0 || job->evaluation)
        return MS_OK;
    ms_simulation simulation;
    ms_status status = ms_step_simulate(job->model, job->run, MS_STEPS_EVALUATED, &simulation, err);
    if (status != MS_OK)
        return status;
    status = ms_usage_measure(&simulation.trace, &job->run->allocator, &s->own_evaluation, err);
    ms_simulation_free(&simulation);
    s->has_evaluation = status == MS_OK;
    return status;
}

static void judge(ms_simulated *s)
{
    s->judgement = ms_judge(s->job.model, s->job.run, &s->usage, ms_simulated_evaluation(s));
}

/* Only of steps that fit it is asked whether the evaluation does. */
static ms_status judge_evaluation(ms_simulated *s, ms_error *err)
{
    if (!ms_reason_fits(s->judgement.reason))
        return MS_OK;
    ms_status status = evaluate(s, err);
    judge(s);
    return status;
}

/* What follows the steps and their usage. */
static ms_status finish(ms_simulated *s, ms_error *err)
{
    switch (s->detail) {
    case MS_SIMULATE_FIT:
        return judge_evaluation(s, err);
    case MS_SIMULATE_PROFILE:
    case MS_SIMULATE_TIME:
        return ms_simulated_profile(s, err);
    case MS_SIMULATE_SUMMARY:
    case MS_SIMULATE_ALL:
        return ms_simulated_summarize(s, err);
    case MS_SIMULATE_MODEL:
    case MS_SIMULATE_EVENTS:
    case MS_SIMULATE_USAGE:
        break;
    }
    return MS_OK;
}

static ms_status simulate(ms_simulated *s, const way *w, ms_error *err)
{
    ms_status status = w->is_evaluated ? evaluate(s, err) : MS_OK;
    if (status == MS_OK)
        status = run_steps(s, w->steps, err);
    if (status == MS_OK && w->is_measured) {
        status = measure(s, s->job.run, err);
        judge(s);
    }
    return status == MS_OK && !ms_simulated_is_beyond(s) ? finish(s, err) : status;
}

ms_status ms_simulate(const ms_job *job, ms_simulate_detail detail, ms_simulated *result,
                      ms_error *err)
{
    *result = (ms_simulated){.job = *job, .detail = detail};
    ms_status status = ms_watch_check(job->run->watch, err);
    if (status != MS_OK)
        return status;
    status = simulate(result, &ways[detail], err);
    ms_watch_count(job->run->watch);
    if (status != MS_OK)
        ms_simulated_free(result);
    return status;
}

ms_status ms_simulate_again(ms_simulated *s, const ms_run_config *run, ms_error *err)
{
    ms_status status = measure(s, run, err);
    s->judgement = ms_judge(s->job.model, run, &s->usage, s->job.evaluation);
    return status;
}

ms_simulated ms_simulated_lend(const ms_simulated *whole)
{
    return (ms_simulated){.job = {.model = whole->job.model,
                                  .run = whole->job.run,
                                  .evaluation = ms_simulated_evaluation(whole)},
                          .detail = whole->detail,
                          .is_whole = true,
                          .is_lent = true,
                          .simulation = whole->simulation};
}

uint64_t ms_simulated_wanted_bytes(const ms_simulated *s)
{
    const ms_usage *usage = &s->usage;
    bool is_of_steady = usage->out_of_memory && usage->peak_reserved_bytes > 0;
    return is_of_steady ? usage->peak_reserved_bytes : usage->most_reserved_bytes;
}

static uint64_t most_requested(const ms_usage *usage)
{
    uint64_t most = 0;
    for (uint32_t i = 0; i < usage->phases.count; i++)
        if (usage->phases.items[i].peak_requested_bytes > most)
            most = usage->phases.items[i].peak_requested_bytes;
    return most;
}

uint64_t ms_simulated_least_bytes(const ms_simulated *s)
{
    uint64_t steps = most_requested(&s->usage), evaluation = most_requested(&s->own_evaluation);
    return steps > evaluation ? steps : evaluation;
}

void ms_simulated_free(ms_simulated *s)
{
    ms_peak_free(&s->peak);
    ms_profile_free(&s->profile);
    ms_usage_free(&s->own_evaluation);
    ms_usage_free(&s->usage);
    if (!s->is_lent)
        ms_simulation_free(&s->simulation);
}
