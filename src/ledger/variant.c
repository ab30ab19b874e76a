/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ledger/variant.h"

#include "base/parallel.h"
#include "config/run/attention.h"
#include "simulate/judge.h"

static void judge(ms_variant *v, const ms_usage *usage)
{
    const ms_judgement j = ms_judge(&v->run, usage, v->ledger->evaluation);
    v->device_bytes = j.device_bytes.expected;
    v->peak_bytes = usage->peak_bytes;
    v->retries = usage->retries;
    v->reason = j.reason;
}

static ms_status measure(ms_variant *v, const ms_trace *trace, ms_step_detail detail, bool *repeats)
{
    ms_usage usage = {0};
    *repeats = true;
    ms_status status =
        detail == MS_STEPS_LEAN
            ? ms_usage_measure_lean(trace, &v->run.allocator, &usage, repeats, &v->err)
            : ms_usage_measure(trace, &v->run.allocator, &usage, &v->err);
    if (status != MS_OK)
        return status;
    judge(v, &usage);
    ms_usage_free(&usage);
    return MS_OK;
}

static ms_status simulate(ms_variant *v, ms_step_detail detail, bool *repeats)
{
    ms_simulation simulation = {0};
    ms_status status = ms_step_simulate(v->ledger->model, &v->run, detail, &simulation, &v->err);
    if (status != MS_OK)
        return status;
    status = measure(v, &simulation.trace, detail, repeats);
    ms_simulation_free(&simulation);
    return status;
}

static void work(void *context, uint32_t index)
{
    ms_variant *v = &((ms_variants *)context)->items[index];
    bool repeats;
    v->status = v->same_events ? measure(v, &v->ledger->simulation->trace, MS_STEPS_ALL, &repeats)
                               : simulate(v, MS_STEPS_LEAN, &repeats);
    if (v->status != MS_OK || repeats)
        return;
    v->status = simulate(v, MS_STEPS_ALL, &repeats);
}

void ms_variants_measure(ms_variants *variants)
{
    ms_parallel_run(variants->count, work, variants);
}

const ms_variant *ms_variants_find(const ms_variants *variants, const ms_change *change)
{
    for (uint32_t i = 0; i < variants->count; i++)
        if (variants->items[i].change == change)
            return &variants->items[i];
    return NULL;
}

bool ms_variants_add(ms_variants *variants, const ms_ledger *ledger, const ms_change *change,
                     ms_arena *arena)
{
    if (variants->count == MS_MOST_VARIANTS || ms_variants_find(variants, change))
        return true;
    ms_variant *v = &variants->items[variants->count];
    *v = (ms_variant){.ledger = ledger,
                      .change = change,
                      .run = *ledger->run,
                      .same_events = change == &ms_allocator_change};
    if (!change->apply(ledger->model, &v->run, arena, &v->option) ||
        ms_attention_refusal(v->run.attention, ledger->model, &v->run))
        return true;
    variants->count++;
    return v->option != NULL;
}

int64_t ms_variant_saved_bytes(const ms_variant *variant)
{
    return (int64_t)(variant->ledger->summary->expected_device_bytes - variant->device_bytes);
}
