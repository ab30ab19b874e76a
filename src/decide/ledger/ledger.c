/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/ledger/ledger.h"

#include <stdlib.h>
#include <string.h>

#include "decide/ledger/records.h"

/* ---- timeline ---- */

enum { STRETCHES = 200 };

/* Follows phases and categories while events are asked for in ascending order. */
typedef struct sampler {
    const ms_trace *trace;
    const ms_usage *usage;
    ms_ledger *ledger;
    uint32_t next_event;
    uint8_t phase;
    uint64_t category_bytes[MS_CATEGORY_COUNT];
} sampler;

static void follow(sampler *s, const ms_event *e)
{
    switch ((ms_event_kind)e->kind) {
    case MS_EVENT_MARK:
        if (s->trace->marks.items[e->id].begin)
            s->phase = s->trace->marks.items[e->id].phase;
        break;
    case MS_EVENT_ALLOC:
        s->category_bytes[s->trace->storages.items[e->id].category] += s->usage->block_bytes[e->id];
        break;
    case MS_EVENT_FREE:
        s->category_bytes[s->trace->storages.items[e->id].category] -= s->usage->block_bytes[e->id];
        break;
    case MS_EVENT_OP_BEGIN:
    case MS_EVENT_OP_END:
    case MS_EVENT_LAYER:
    case MS_EVENT_WORK:
    case MS_EVENT_WAIT:
    case MS_EVENT_RECORD:
    case MS_EVENT_HOST_EVENT:
    case MS_EVENT_HOST_WAIT:
    case MS_EVENT_EMPTY_CACHE:
        break;
    }
}

static bool add_point(sampler *s, uint32_t offset)
{
    uint32_t event = s->usage->steady_first_event + offset;
    for (; s->next_event <= event; s->next_event++)
        follow(s, &s->trace->events.items[s->next_event]);
    ms_timeline_point point = {.event = offset,
                               .phase = s->phase,
                               .ms = s->ledger->schedule.event_ms[offset],
                               .bytes = s->usage->live_bytes[offset],
                               .reserved_bytes = s->usage->reserved_bytes[offset]};
    memcpy(point.category_bytes, s->category_bytes, sizeof point.category_bytes);
    uint32_t count = s->ledger->timeline.count;
    if (count && s->ledger->timeline.items[count - 1].event == offset)
        return true;
    return ms_vec_push(&s->ledger->timeline, point);
}

static bool add_stretch(sampler *s, uint32_t begin, uint32_t end)
{
    const uint64_t *live = s->usage->live_bytes;
    uint32_t low = begin, high = begin;
    for (uint32_t i = begin + 1; i < end; i++) {
        low = live[i] < live[low] ? i : low;
        high = live[i] > live[high] ? i : high;
    }
    return add_point(s, low < high ? low : high) && add_point(s, low < high ? high : low);
}

/* What was there when the step began. */
static void count_before(sampler *s, const ms_lifetime *lifetimes)
{
    uint32_t first = s->next_event;
    for (uint32_t i = 0; i < s->trace->storages.count; i++)
        if (lifetimes[i].birth < first && lifetimes[i].death >= first)
            s->category_bytes[s->trace->storages.items[i].category] += s->usage->block_bytes[i];
}

/* Samples the allocated bytes of the steady step: the minimum and the maximum of each interval of
 * events. At most 402 points, including the first and the last. Needs the ledger's schedule. */
static ms_status timeline_sample(const ms_record_source *source, ms_ledger *ledger, ms_error *err)
{
    const ms_usage *usage = source->usage;
    sampler s = {.trace = source->trace,
                 .usage = usage,
                 .ledger = ledger,
                 .next_event = usage->steady_first_event,
                 .phase = MS_PHASE_FORWARD};
    uint32_t count = usage->steady_end_event - usage->steady_first_event;
    count_before(&s, source->lifetimes);
    bool ok = count == 0 || add_point(&s, 0);
    uint32_t spans = count < STRETCHES ? count : STRETCHES;
    for (uint32_t i = 0; ok && i < spans; i++)
        ok = add_stretch(&s, (uint32_t)((uint64_t)count * i / spans),
                         (uint32_t)((uint64_t)count * (i + 1) / spans));
    ok = ok && (count == 0 || add_point(&s, count - 1));
    return ok ? MS_OK : ms_fail(err, MS_ERR_NOMEM, "no memory for the timeline");
}

/* ---- ledger ---- */

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
    return status == MS_OK ? timeline_sample(source, ledger, err) : status;
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
