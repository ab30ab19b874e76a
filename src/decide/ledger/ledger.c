/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/ledger/ledger.h"

#include <stdlib.h>

#include "decide/ledger/records.h"
#include "decide/ledger/timeline.h"

static uint32_t count_micro_steps(const ms_usage *usage)
{
    uint32_t count = 1;
    for (uint32_t i = usage->first_steady_phase; i < usage->phases.count; i++)
        if (usage->phases.items[i].micro_step >= count)
            count = usage->phases.items[i].micro_step + 1;
    return count;
}

static ms_status fill(ms_ledger *ledger, const ms_record_source *source, ms_error *err)
{
    if (!source->lifetimes || !source->scope_hashes || !source->owners)
        return ms_fail(err, MS_ERR_NOMEM, "no memory for the ledger");
    ms_status status = ms_records_add_persistent(source, ledger, err);
    if (status == MS_OK)
        status = ms_records_add_operators(source, ledger, err);
    if (status == MS_OK)
        ms_records_add_peak(source, ledger);
    if (status == MS_OK)
        status = ms_schedule_build(source->trace, source->usage, ledger->run->device,
                                   &ledger->schedule, err);
    return status == MS_OK ? ms_timeline_sample(source, ledger, err) : status;
}

ms_status ms_ledger_build(const ms_simulated *simulated, ms_fold_mode mode, ms_ledger *ledger,
                          ms_error *err)
{
    *ledger = (ms_ledger){.simulated = simulated,
                          .simulation = &simulated->simulation,
                          .usage = &simulated->usage,
                          .evaluation = ms_simulated_evaluation(simulated),
                          .model = simulated->job.model,
                          .run = simulated->job.run,
                          .summary = &simulated->summary,
                          .profile = &simulated->profile,
                          .peak = &simulated->peak,
                          .mode = mode};
    const ms_trace *trace = &simulated->simulation.trace;
    ms_lifetime *lifetimes = ms_lifetimes_create(trace);
    uint64_t *scope_hashes = ms_scope_hashes_create(trace);
    uint32_t *owners = calloc((size_t)trace->storages.count + 1, sizeof *owners);
    for (uint32_t i = 0; owners && i < trace->storages.count; i++)
        owners[i] = MS_NONE;
    const ms_record_source source = {.trace = trace,
                                     .usage = ledger->usage,
                                     .lifetimes = lifetimes,
                                     .scope_hashes = scope_hashes,
                                     .owners = owners,
                                     .layer_count = ms_trace_layer_count(trace),
                                     .micro_steps = count_micro_steps(ledger->usage)};
    ms_status status = fill(ledger, &source, err);
    if (status != MS_OK)
        ms_ledger_free(ledger);
    free(lifetimes);
    free(scope_hashes);
    free(owners);
    return status;
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
    ms_schedule_free(&ledger->schedule);
}
