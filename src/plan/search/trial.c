/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plan/search/trial.h"

#include "base/reason.h"
#include "ledger/judge.h"

static ms_status simulate(ms_trial *trial, bool is_lean, ms_error *err)
{
    trial->is_lean = is_lean;
    trial->run.detail = is_lean ? MS_STEPS_LEAN : MS_STEPS_ALL;
    return ms_step_simulate(trial->model, &trial->run, &trial->simulation, err);
}

ms_status ms_trial_begin(const ms_model_config *model, const ms_run_config *run,
                         const ms_treatments *treatments, ms_trial *trial, ms_error *err)
{
    *trial = (ms_trial){.model = model, .run = *run};
    trial->run.treatments = *treatments;
    return simulate(trial, true, err);
}

static uint64_t most_requested(const ms_usage *usage)
{
    uint64_t most = 0;
    for (uint32_t i = 0; i < usage->phases.count; i++)
        if (usage->phases.items[i].peak_requested_bytes > most)
            most = usage->phases.items[i].peak_requested_bytes;
    return most;
}

/* *repeats: whether the step could be played again; if not, the rest is undefined. */
static ms_status replay(const ms_trial *trial, const ms_run_config *run, ms_trial_result *result,
                        bool *repeats, ms_error *err)
{
    const ms_trace *trace = &trial->simulation.trace;
    ms_usage usage = {0};
    *repeats = true;
    ms_status status = trial->is_lean
                           ? ms_usage_measure_fit(trace, &run->allocator, &usage, repeats, err)
                           : ms_usage_measure(trace, &run->allocator, &usage, err);
    if (status != MS_OK)
        return status;
    bool is_of_steady = usage.out_of_memory && usage.peak_reserved_bytes > 0;
    *result = (ms_trial_result){.reason = ms_judge(run, &usage, NULL).reason,
                                .wanted_bytes = is_of_steady ? usage.peak_reserved_bytes
                                                             : usage.most_reserved_bytes,
                                .least_bytes = most_requested(&usage)};
    ms_usage_free(&usage);
    return MS_OK;
}

ms_status ms_trial_judge(ms_trial *trial, const ms_run_config *run, ms_trial_result *result,
                         ms_error *err)
{
    bool repeats;
    *result = (ms_trial_result){.reason = MS_FIT_NO_ROOM};
    ms_status status = replay(trial, run, result, &repeats, err);
    if (status != MS_OK || repeats)
        return status;
    ms_simulation_free(&trial->simulation);
    status = simulate(trial, false, err);
    return status == MS_OK ? replay(trial, run, result, &repeats, err) : status;
}

void ms_trial_free(ms_trial *trial)
{
    ms_simulation_free(&trial->simulation);
}

ms_status ms_trial_evaluate(const ms_model_config *model, const ms_run_config *run, ms_usage *usage,
                            ms_error *err)
{
    ms_run_config evaluated = *run;
    ms_simulation simulation;
    evaluated.detail = MS_STEPS_EVALUATED;
    ms_status status = ms_step_simulate(model, &evaluated, &simulation, err);
    if (status != MS_OK)
        return status;
    status = ms_usage_measure(&simulation.trace, &run->allocator, usage, err);
    ms_simulation_free(&simulation);
    return status;
}

/* Of the step and the evaluation the worse counts: reasons are in that order. */
static ms_status judge_evaluation(const ms_trial *trial, ms_trial_result *result, ms_error *err)
{
    ms_usage usage = {0};
    ms_status status = ms_trial_evaluate(trial->model, &trial->run, &usage, err);
    if (status != MS_OK)
        return status;
    ms_fit_reason other = ms_judge(&trial->run, &usage, NULL).reason;
    if (other < result->reason)
        result->reason = other;
    if (most_requested(&usage) > result->least_bytes)
        result->least_bytes = most_requested(&usage);
    ms_usage_free(&usage);
    return MS_OK;
}

ms_status ms_step_plan_judge(const ms_model_config *model, const ms_run_config *run,
                             const ms_treatments *treatments, ms_trial_result *result,
                             ms_error *err)
{
    ms_trial trial;
    ms_status status = ms_trial_begin(model, run, treatments, &trial, err);
    if (status != MS_OK)
        return status;
    status = ms_trial_judge(&trial, run, result, err);
    if (status == MS_OK && run->eval_batch && ms_reason_fits(result->reason))
        status = judge_evaluation(&trial, result, err);
    ms_trial_free(&trial);
    return status;
}
