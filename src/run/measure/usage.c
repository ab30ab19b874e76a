/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run/measure/usage.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "run/measure/player.h"

/* ---- lifetime ---- */

ms_lifetime *ms_lifetimes_create(const ms_trace *trace)
{
    uint32_t count = trace->storages.count;
    ms_lifetime *lifetimes = malloc((count ? count : 1) * sizeof *lifetimes);
    if (!lifetimes)
        return NULL;
    for (uint32_t i = 0; i < count; i++)
        lifetimes[i] = (ms_lifetime){MS_NONE, MS_NONE};
    for (uint32_t e = 0; e < trace->events.count; e++) {
        const ms_event *event = &trace->events.items[e];
        switch ((ms_event_kind)event->kind) {
        case MS_EVENT_ALLOC:
            lifetimes[event->id].birth = e;
            break;
        case MS_EVENT_FREE:
            lifetimes[event->id].death = e;
            break;
        case MS_EVENT_OP_BEGIN:
        case MS_EVENT_OP_END:
        case MS_EVENT_MARK:
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
    return lifetimes;
}

/* Whether the bytes requested at one time exceed the capacity, so that no allocator can succeed. */
static bool lifetimes_exceed(const ms_trace *trace, uint64_t capacity_bytes)
{
    uint64_t live_bytes = 0, bytes;
    for (uint32_t i = 0; i < trace->events.count; i++) {
        const ms_event *event = &trace->events.items[i];
        switch ((ms_event_kind)event->kind) {
        case MS_EVENT_FREE:
            live_bytes -= trace->storages.items[event->id].bytes;
            break;
        case MS_EVENT_ALLOC:
            bytes = trace->storages.items[event->id].bytes;
            if (bytes > capacity_bytes || live_bytes > capacity_bytes - bytes)
                return true;
            live_bytes += bytes;
            break;
        case MS_EVENT_OP_BEGIN:
        case MS_EVENT_OP_END:
        case MS_EVENT_MARK:
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
    return false;
}

uint64_t ms_lifetimes_most(const ms_trace *trace)
{
    uint64_t live_bytes = 0, most_bytes = 0;
    bool is_open = false;
    for (uint32_t i = 0; i < trace->events.count; i++) {
        const ms_event *event = &trace->events.items[i];
        if (event->kind == MS_EVENT_FREE)
            live_bytes -= trace->storages.items[event->id].bytes;
        else if (event->kind == MS_EVENT_ALLOC)
            live_bytes += trace->storages.items[event->id].bytes;
        else if (event->kind == MS_EVENT_MARK)
            is_open = trace->marks.items[event->id].begin && trace->marks.items[event->id].step > 0;
        if (is_open && live_bytes > most_bytes)
            most_bytes = live_bytes;
    }
    return most_bytes;
}

/* ---- usage ---- */

/* The event that opens the last step. */
static uint32_t find_steady_event(const ms_trace *trace)
{
    uint16_t last = ms_last_step_of(trace);
    for (uint32_t i = 0; i < trace->events.count; i++) {
        const ms_event *event = &trace->events.items[i];
        if (event->kind == MS_EVENT_MARK && trace->marks.items[event->id].step == last)
            return i;
    }
    return 0;
}

/* Storages are numbered as they are made. */
static uint32_t find_steady_storage(const ms_trace *trace, uint32_t steady_event)
{
    for (uint32_t i = steady_event; i < trace->events.count; i++)
        if (trace->events.items[i].kind == MS_EVENT_ALLOC)
            return trace->events.items[i].id;
    return trace->storages.count;
}

/* At least one byte, so that NULL always means "out of memory". */
static void *zeroed(uint32_t count, size_t size)
{
    return calloc(count ? count : 1, size);
}

/* Which tables a caller needs, and whether it only asks if there is enough memory, as bits. */
enum { WANTS_BLOCKS = 1, WANTS_CURVE = 2, WANTS_VERDICT = 4 };

static bool has_tables(const ms_player *p, int wanted)
{
    const ms_usage *usage = p->usage;
    return p->allocator && p->blocks && (!(wanted & WANTS_BLOCKS) || usage->block_bytes) &&
           (!(wanted & WANTS_CURVE) ||
            (usage->live_bytes && usage->reserved_bytes && usage->addresses));
}

/* MS_ERR_OVER_BUDGET, without a message, when the device is full and that is the end. */
static ms_status play_once(ms_player *p, const ms_allocator_options *options, bool lean, int wanted,
                           ms_error *err)
{
    const ms_trace *trace = p->trace;
    ms_usage *usage = p->usage;
    *usage = (ms_usage){.allocator = *options,
                        .steady_first_event = find_steady_event(trace),
                        .steady_end_event = trace->events.count};
    usage->first_steady_storage = find_steady_storage(trace, usage->steady_first_event);
    p->allocator = ms_allocator_create(options);
    p->blocks = zeroed(trace->storages.count, sizeof *p->blocks);
    if (wanted & WANTS_BLOCKS)
        usage->block_bytes = zeroed(trace->storages.count, sizeof *usage->block_bytes);
    if (wanted & WANTS_CURVE) {
        uint32_t count = trace->events.count - usage->steady_first_event;
        usage->live_bytes = zeroed(count, sizeof *usage->live_bytes);
        usage->reserved_bytes = zeroed(count, sizeof *usage->reserved_bytes);
        usage->addresses = zeroed(trace->storages.count, sizeof *usage->addresses);
    }
    ms_status status;
    if (has_tables(p, wanted)) {
        p->stats = ms_allocator_stats_of(p->allocator);
        status = ms_play_steps(p, lean, wanted & WANTS_VERDICT, err);
        if (status == MS_OK && (wanted & WANTS_CURVE) &&
            !ms_allocator_list(p->allocator, &usage->pieces))
            status = ms_fail(err, MS_ERR_NOMEM, "no memory for the allocator's segments");
    } else {
        status = ms_fail(err, MS_ERR_NOMEM, "out of memory for a trace of %u events",
                         (unsigned)trace->events.count);
    }
    free(p->blocks);
    ms_allocator_free(p->allocator);
    if (status != MS_OK)
        ms_usage_free(usage);
    return status;
}

/* What does not fit is said to take what it takes where nothing is refused: after a refusal, the
 * allocator has given back what it will take again. With so much it fits; it may with less. */
static ms_status measure(ms_player *p, const ms_allocator_options *options, bool lean, int wanted,
                         ms_error *err)
{
    ms_usage limited = {0};
    ms_player first = {.trace = p->trace, .usage = &limited, .goes_on = wanted & WANTS_VERDICT};
    ms_status status = MS_ERR_OVER_BUDGET;
    if (first.goes_on || !options->capacity_bytes ||
        !lifetimes_exceed(p->trace, options->capacity_bytes))
        status = play_once(&first, options, lean, wanted, err);
    if (status != MS_ERR_OVER_BUDGET) {
        *p->usage = limited;
        p->broken = first.broken;
        return status;
    }
    ms_allocator_options unlimited = *options;
    unlimited.capacity_bytes = unlimited.device_bytes = 0;
    status = play_once(p, &unlimited, lean, wanted, err);
    if (status == MS_OK)
        p->usage->out_of_memory = true;
    return status;
}

ms_status ms_usage_measure(const ms_trace *trace, const ms_allocator_options *options,
                           ms_usage *usage, ms_error *err)
{
    ms_player p = {.trace = trace, .usage = usage};
    return measure(&p, options, false, WANTS_BLOCKS | WANTS_CURVE, err);
}

ms_status ms_usage_measure_figures(const ms_trace *trace, const ms_allocator_options *options,
                                   ms_usage *usage, ms_error *err)
{
    ms_player p = {.trace = trace, .usage = usage};
    return measure(&p, options, false, 0, err);
}

static ms_status measure_twice(const ms_trace *trace, const ms_allocator_options *options,
                               int wanted, ms_usage *usage, bool *repeats, ms_error *err)
{
    ms_player p = {.trace = trace, .usage = usage};
    ms_status status = measure(&p, options, true, wanted, err);
    *repeats = !p.broken;
    return status;
}

ms_status ms_usage_measure_lean(const ms_trace *trace, const ms_allocator_options *options,
                                ms_usage *usage, bool *repeats, ms_error *err)
{
    return measure_twice(trace, options, 0, usage, repeats, err);
}

ms_status ms_usage_measure_within(const ms_trace *trace, const ms_allocator_options *options,
                                  ms_usage *usage, bool *repeats, ms_error *err)
{
    ms_player p = {.trace = trace, .usage = usage, .ends_full = true};
    ms_status status = play_once(&p, options, true, 0, err);
    usage->out_of_memory = status == MS_ERR_OVER_BUDGET;
    *repeats = !p.broken;
    return usage->out_of_memory ? MS_OK : status;
}

ms_status ms_usage_measure_fit(const ms_trace *trace, const ms_allocator_options *options,
                               ms_usage *usage, bool *repeats, ms_error *err)
{
    return measure_twice(trace, options, WANTS_VERDICT, usage, repeats, err);
}

ms_status ms_usage_measure_blocks(const ms_trace *trace, const ms_allocator_options *options,
                                  ms_usage *usage, bool *repeats, ms_error *err)
{
    return measure_twice(trace, options, WANTS_BLOCKS, usage, repeats, err);
}

ms_status ms_usage_measure_slow(const ms_trace *trace, const ms_allocator_options *options,
                                bool is_lean, ms_usage *usage, ms_error *err)
{
    if (trace->uses.count == 0)
        return MS_OK;
    ms_usage slow = {0};
    ms_allocator_options unlimited = *options;
    unlimited.capacity_bytes = unlimited.device_bytes = 0;
    unlimited.has_slow_events = true;
    ms_player p = {.trace = trace, .usage = &slow};
    ms_status status = play_once(&p, &unlimited, is_lean, 0, err);
    if (status == MS_OK)
        usage->slow_reserved_bytes = slow.peak_reserved_bytes;
    ms_usage_free(&slow);
    return status;
}

ms_status ms_usage_pieces_at(const ms_trace *trace, const ms_allocator_options *options,
                             uint32_t event, ms_allocator_pieces *pieces, ms_error *err)
{
    ms_usage usage = {.steady_first_event = UINT32_MAX};
    ms_player p = {.trace = trace,
                   .usage = &usage,
                   .allocator = ms_allocator_create(options),
                   .goes_on = true};
    ms_status status = MS_ERR_NOMEM;
    p.blocks = zeroed(trace->storages.count, sizeof *p.blocks);
    if (has_tables(&p, 0)) {
        p.stats = ms_allocator_stats_of(p.allocator);
        status = ms_play(&p, 0, event + 1, err);
    }
    if (status == MS_OK && !ms_allocator_list(p.allocator, pieces))
        status = MS_ERR_NOMEM;
    free(p.blocks);
    ms_allocator_free(p.allocator);
    ms_usage_free(&usage);
    return status == MS_ERR_NOMEM ? ms_fail(err, status, "no memory for the allocator's segments")
                                  : status;
}

/* Milliseconds for 1 GiB that is returned to the driver and taken again, as measured on one GPU
 * (vortex-data/vortex pull/7831); the table of rates has none by device. */
static const double retry_ms_per_gib = 31.2;

double ms_usage_retry_ms(const ms_usage *usage)
{
    return retry_ms_per_gib * (double)usage->steady_retry_bytes / (double)(UINT64_C(1) << 30);
}

void ms_usage_free(ms_usage *usage)
{
    ms_vec_free(&usage->phases);
    free(usage->block_bytes);
    free(usage->live_bytes);
    free(usage->reserved_bytes);
    free(usage->addresses);
    ms_vec_free(&usage->pieces);
    *usage = (ms_usage){0};
}
