/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ledger/ledger.h"

#include <stdlib.h>
#include <string.h>

#include "ledger/judge.h"
#include "ledger/records.h"
#include "ledger/timeline.h"

static uint32_t count_micro_steps(const ms_usage *usage)
{
    uint32_t count = 1;
    for (uint32_t i = usage->first_steady_phase; i < usage->phases.count; i++)
        if (usage->phases.items[i].micro_step >= count)
            count = usage->phases.items[i].micro_step + 1;
    return count;
}

static void summarize_device(const ms_ledger *ledger, ms_summary *s)
{
    const ms_judgement j = ms_judge(ledger->run, ledger->usage, ledger->evaluation);
    s->reserved_memory_bytes = ledger->usage->peak_reserved_bytes;
    s->first_step_reserved_bytes =
        ledger->usage->most_reserved_bytes > ledger->usage->peak_reserved_bytes
            ? ledger->usage->most_reserved_bytes
            : 0;
    s->allocator_retries = ledger->usage->retries;
    s->low_device_bytes = j.device_bytes.low;
    s->expected_device_bytes = j.device_bytes.expected;
    s->high_device_bytes = j.device_bytes.high;
    s->budget_bytes = j.budget_bytes;
    if (j.budget_bytes)
        s->headroom_bytes = (int64_t)(j.budget_bytes - j.device_bytes.expected);
    s->verdict_reason = j.reason;
    s->verdict = ms_reason_verdict(j.reason);
    s->fits = ms_reason_fits(j.reason);
}

static void summarize(ms_ledger *ledger)
{
    const ms_simulation *sim = ledger->simulation;
    const ms_peak *peak = &ledger->peak;
    ms_summary *s = &ledger->summary;
    s->param_count = sim->param_count;
    s->trainable_param_count = sim->trainable_param_count;
    s->active_param_count = sim->active_param_count;
    s->weight_memory_bytes = sim->weight_bytes;
    s->buffer_memory_bytes = sim->buffer_bytes;
    s->grad_memory_bytes = sim->gradient_bytes;
    s->optimizer_memory_bytes = sim->optimizer_state_bytes;
    s->persistent_memory_bytes =
        sim->weight_bytes + sim->buffer_bytes + sim->gradient_bytes + sim->optimizer_state_bytes;
    s->activation_memory_bytes =
        peak->category_bytes[MS_CATEGORY_ACTIVATION] + peak->category_bytes[MS_CATEGORY_INPUT];
    s->temporary_memory_bytes =
        peak->category_bytes[MS_CATEGORY_TEMPORARY] + peak->category_bytes[MS_CATEGORY_WORKSPACE];
    s->saved_bytes = sim->saved_bytes;
    s->after_build_bytes = ledger->usage->after_build_bytes;
    s->start_bytes = ledger->usage->start_bytes;
    s->peak_memory_bytes = ledger->usage->peak_bytes;
    s->peak_stage = ms_phase_name((ms_phase)peak->phase);
    if (ms_device_has_rates(ledger->run->device)) {
        s->step_time_ms = ledger->profile.time.step_ms;
        s->exposed_copy_ms = ledger->profile.time.exposed_ms;
    }
    s->host_memory_bytes = sim->host_peak_bytes;
    s->host_weight_memory_bytes = sim->host_weight_bytes;
    summarize_device(ledger, s);
}

static ms_status fill(ms_ledger *ledger, const ms_record_source *source, ms_error *err)
{
    if (!source->lifetimes || !source->scope_hashes || !source->owners)
        return ms_fail(err, MS_ERR_NOMEM, "no memory for the ledger");
    bool itemises = ledger->mode != MS_FOLD_EVERYTHING;
    ms_status status = ms_peak_compose(source, &ledger->peak, err);
    if (status == MS_OK && itemises)
        status = ms_records_add_persistent(source, ledger, err);
    if (status == MS_OK && itemises)
        status = ms_records_add_operators(source, ledger, err);
    if (status == MS_OK && itemises)
        ms_records_add_peak(source, ledger);
    if (status == MS_OK && itemises)
        status = ms_schedule_build(source->trace, source->usage, ledger->run->device,
                                   &ledger->schedule, err);
    if (status == MS_OK && itemises)
        status = ms_timeline_sample(source, ledger, err);
    if (status == MS_OK)
        status = ms_profile_build(source->trace, ledger->run->device, ledger->run->allocator.kind,
                                  &ledger->profile, err);
    if (status == MS_OK && ledger->peak.bytes != source->usage->peak_bytes)
        status = ms_fail(err, MS_ERR_INTERNAL, "what is alive at the peak does not sum to it");
    return status;
}

ms_status ms_ledger_build(const ms_model_config *model, const ms_run_config *run,
                          const ms_simulation *simulation, const ms_usage *usage, ms_fold_mode mode,
                          ms_ledger *ledger, ms_error *err)
{
    memset(ledger, 0, sizeof *ledger);
    ledger->simulation = simulation;
    ledger->usage = usage;
    ledger->model = model;
    ledger->run = run;
    ledger->mode = mode;
    const ms_trace *trace = &simulation->trace;
    ms_lifetime *lifetimes = ms_lifetimes_create(trace);
    uint64_t *scope_hashes = ms_scope_hashes_create(trace);
    uint32_t *owners = calloc((size_t)trace->storages.count + 1, sizeof *owners);
    for (uint32_t i = 0; owners && i < trace->storages.count; i++)
        owners[i] = MS_NONE;
    const ms_record_source source = {.trace = trace,
                                     .usage = usage,
                                     .lifetimes = lifetimes,
                                     .scope_hashes = scope_hashes,
                                     .owners = owners,
                                     .layer_count = ms_trace_layer_count(trace),
                                     .micro_steps = count_micro_steps(usage)};
    ms_status status = fill(ledger, &source, err);
    if (status == MS_OK)
        summarize(ledger);
    else
        ms_ledger_free(ledger);
    free(lifetimes);
    free(scope_hashes);
    free(owners);
    return status;
}

void ms_ledger_add_evaluation(ms_ledger *ledger, const ms_usage *evaluation)
{
    ledger->evaluation = evaluation;
    ledger->summary.evaluation_peak_bytes = evaluation->peak_bytes;
    ledger->summary.evaluation_reserved_bytes = evaluation->peak_reserved_bytes;
    summarize_device(ledger, &ledger->summary);
}

const ms_phase_usage *ms_ledger_evaluation(const ms_ledger *ledger)
{
    const ms_usage *evaluation = ledger->evaluation;
    return evaluation && evaluation->phases.count
               ? &evaluation->phases.items[evaluation->phases.count - 1]
               : NULL;
}

void ms_ledger_free(ms_ledger *ledger)
{
    ms_vec_free(&ledger->records);
    ms_vec_free(&ledger->parts);
    ms_vec_free(&ledger->layers);
    ms_vec_free(&ledger->timeline);
    ms_peak_free(&ledger->peak);
    ms_profile_free(&ledger->profile);
    ms_schedule_free(&ledger->schedule);
}
