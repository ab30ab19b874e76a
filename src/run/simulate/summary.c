/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run/simulate/summary.h"

#include <stdlib.h>

#include "base/size.h"
#include "input/config/run/run_config.h"
#include "run/measure/usage.h"
#include "run/measure/scopes.h"
#include "run/measure/source.h"

/* ---- what is alive at the peak ---- */

static ms_status compose_peak(ms_simulated *s, ms_error *err)
{
    const ms_trace *trace = &s->simulation.trace;
    ms_lifetime *lifetimes = ms_lifetimes_create(trace);
    uint64_t *scope_hashes = ms_scope_hashes_create(trace);
    const ms_record_source source = {.trace = trace,
                                     .usage = &s->usage,
                                     .lifetimes = lifetimes,
                                     .scope_hashes = scope_hashes,
                                     .layer_count = ms_trace_layer_count(trace)};
    ms_status status = MS_OK;
    if (lifetimes && scope_hashes)
        status = ms_peak_compose(&source, &s->peak, err);
    else
        status = ms_fail(err, MS_ERR_NOMEM, "no memory for what is alive at the peak");
    if (status == MS_OK && s->peak.bytes != s->usage.peak_bytes)
        status = ms_fail(err, MS_ERR_INTERNAL, "what is alive at the peak does not sum to it");
    free(lifetimes);
    free(scope_hashes);
    return status;
}

/* ---- the summary ---- */

static void summarize_model(const ms_simulation *sim, ms_summary *s)
{
    s->param_count = sim->param_count;
    s->trainable_param_count = sim->trainable_param_count;
    s->active_param_count = sim->active_param_count;
    s->weight_memory_bytes = sim->weight_bytes;
    s->buffer_memory_bytes = sim->buffer_bytes;
    s->grad_memory_bytes = sim->gradient_bytes;
    s->optimizer_memory_bytes = sim->optimizer_state_bytes;
    s->persistent_memory_bytes =
        sim->weight_bytes + sim->buffer_bytes + sim->gradient_bytes + sim->optimizer_state_bytes;
    s->saved_bytes = sim->saved_bytes;
    s->host_memory_bytes = sim->host_peak_bytes;
    s->host_weight_memory_bytes = sim->host_weight_bytes;
}

static void summarize_usage(const ms_usage *usage, const ms_peak *peak, ms_summary *s)
{
    s->activation_memory_bytes =
        peak->category_bytes[MS_CATEGORY_ACTIVATION] + peak->category_bytes[MS_CATEGORY_INPUT];
    s->temporary_memory_bytes =
        peak->category_bytes[MS_CATEGORY_TEMPORARY] + peak->category_bytes[MS_CATEGORY_WORKSPACE];
    s->after_build_bytes = usage->after_build_bytes;
    s->start_bytes = usage->start_bytes;
    s->peak_memory_bytes = usage->peak_bytes;
    s->peak_stage = ms_phase_name((ms_phase)peak->phase);
    s->reserved_memory_bytes = usage->peak_reserved_bytes;
    s->first_step_reserved_bytes =
        usage->most_reserved_bytes > usage->peak_reserved_bytes ? usage->most_reserved_bytes : 0;
    if (usage->slow_reserved_bytes > usage->peak_reserved_bytes)
        s->slow_device_reserved_bytes = usage->slow_reserved_bytes;
    s->allocator_retries = usage->retries;
}

/* Where the most is that is not in the steady step; a phase of an earlier step, or the build. */
static const char *early_stage(const ms_usage *usage, uint64_t bytes)
{
    for (uint32_t i = 0; i < usage->first_steady_phase && i < usage->phases.count; i++)
        if (usage->phases.items[i].peak_bytes == bytes)
            return "first-step";
    return "build";
}

static void summarize_job(const ms_usage *usage, const ms_usage *evaluation, ms_summary *s)
{
    const ms_job_most job = ms_job_most_of(usage, evaluation);
    s->job_peak_memory_bytes = job.bytes;
    s->job_reserved_memory_bytes = job.reserved_bytes;
    if (job.bytes == usage->peak_bytes)
        s->job_peak_stage = "step";
    else if (evaluation && job.bytes == evaluation->peak_bytes)
        s->job_peak_stage = ms_phase_name(MS_PHASE_EVALUATION);
    else
        s->job_peak_stage = early_stage(usage, job.bytes);
}

void ms_summary_set_reason(ms_summary *s, ms_fit_reason reason)
{
    s->verdict_reason = reason;
    s->verdict = ms_reason_verdict(reason);
    s->fits = ms_reason_fits(reason);
}

ms_fit_reason ms_simulated_reason(const ms_simulated *s)
{
    return ms_reason_with_keys(s->judgement.reason, &s->job.run->keys);
}

static void summarize_judgement(const ms_simulated *simulated, ms_summary *s)
{
    const ms_judgement *j = &simulated->judgement;
    s->low_device_bytes = j->device_bytes.low;
    s->expected_device_bytes = j->device_bytes.expected;
    s->high_device_bytes = j->device_bytes.high;
    s->budget_bytes = j->budget_bytes;
    if (j->budget_bytes)
        s->headroom_bytes = (int64_t)(j->budget_bytes - j->device_bytes.expected);
    ms_summary_set_reason(s, ms_simulated_reason(simulated));
}

static bool has_step_time(const ms_run_config *run)
{
    return ms_device_has_rates(run->device) && !ms_layout_has_stages(&run->parallel.layout);
}

double ms_simulated_step_ms(const ms_simulated *s)
{
    return has_step_time(s->job.run) ? s->profile.time.step_ms : 0;
}

static void summarize(ms_simulated *simulated)
{
    ms_summary *s = &simulated->summary;
    const ms_usage *evaluation = ms_simulated_evaluation(simulated);
    summarize_model(&simulated->simulation, s);
    summarize_usage(&simulated->usage, &simulated->peak, s);
    const ms_run_config *run = simulated->job.run;
    summarize_judgement(simulated, s);
    s->step_time_ms = ms_simulated_step_ms(simulated);
    if (has_step_time(run))
        s->exposed_copy_ms = ms_step_waiting_ms(&simulated->profile.time);
    s->tokens = ms_run_tokens(run);
    s->tokens_per_s = ms_run_tokens_per_s(run, s->step_time_ms);
    s->tokens_per_s_per_gpu = ms_run_tokens_per_s_per_gpu(run, s->step_time_ms);
    summarize_job(&simulated->usage, evaluation, s);
    if (evaluation) {
        s->evaluation_peak_bytes = evaluation->peak_bytes;
        s->evaluation_reserved_bytes = evaluation->peak_reserved_bytes;
    }
}

/* ---- all of it ---- */

ms_status ms_simulated_profile(ms_simulated *s, ms_error *err)
{
    const ms_run_config *run = s->job.run;
    ms_step_time *time = &s->profile.time;
    ms_status status =
        ms_profile_build(&s->simulation.trace, run->device, run->allocator.kind, &s->profile, err);
    if (status == MS_OK) {
        time->retry_ms = ms_usage_retry_ms(&s->usage);
        time->step_ms += time->retry_ms;
    }
    return status;
}

ms_status ms_simulated_summarize(ms_simulated *s, ms_error *err)
{
    ms_status status = compose_peak(s, err);
    if (status == MS_OK)
        status = ms_simulated_profile(s, err);
    if (status == MS_OK)
        summarize(s);
    return status;
}
