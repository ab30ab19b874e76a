/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run/measure/player.h"

#include <stdlib.h>
#include <string.h>

#include "core/allocator/waiting.h"

uint16_t ms_last_step_of(const ms_trace *trace)
{
    return trace->marks.count ? trace->marks.items[trace->marks.count - 1].step : 0;
}

static ms_status play_alloc(ms_player *p, uint32_t storage, ms_error *err)
{
    uint64_t bytes = p->trace->storages.items[storage].bytes;
    ms_block block;
    p->broken = p->broken || (p->is_again && p->blocks[storage] != 0);
    uint32_t stream = p->trace->storages.items[storage].stream;
    ms_status status = ms_allocator_allocate(p->allocator, bytes, stream, &block);
    if (status == MS_ERR_OVER_BUDGET && p->goes_on) {
        p->usage->out_of_memory = true;
        ms_allocator_lift_capacity(p->allocator);
        status = ms_allocator_allocate(p->allocator, bytes, stream, &block);
    }
    if (p->ends_full && p->stats->retries > 0)
        return MS_ERR_OVER_BUDGET;
    if (status == MS_ERR_OVER_BUDGET)
        return status;
    if (status == MS_ERR_NOMEM)
        return ms_fail(err, status, "out of memory while simulating the allocator");
    if (status != MS_OK)
        return ms_fail(err, status, "the tensors of this run exceed 2^62 bytes");
    p->blocks[storage] = block;
    if (p->usage->block_bytes)
        p->usage->block_bytes[storage] = ms_allocator_block_bytes(p->allocator, block);
    if (p->usage->addresses)
        p->usage->addresses[storage] = ms_allocator_block_address(p->allocator, block);
    return MS_OK;
}

static void play_free(ms_player *p, uint32_t storage)
{
    bool missing = p->blocks[storage] == 0 && p->trace->storages.items[storage].bytes > 0;
    p->broken = p->broken || (p->is_again && missing);
    ms_allocator_release(p->allocator, p->blocks[storage]);
    p->blocks[storage] = 0;
}

static bool play_use(ms_player *p, const ms_use *use)
{
    return ms_allocator_record(p->allocator, p->blocks[use->storage], use->stream) == MS_OK;
}

/* Raises the open phase's maxima to what is in use now. */
static void raise_phase(ms_player *p, uint32_t event)
{
    ms_phase_usage *phase = p->phase;
    const ms_allocator_stats *now = p->stats;
    if (now->allocated_bytes > phase->peak_bytes) {
        phase->peak_bytes = now->allocated_bytes;
        phase->peak_event = event;
    }
    if (now->requested_bytes > phase->peak_requested_bytes)
        phase->peak_requested_bytes = now->requested_bytes;
    if (now->reserved_bytes > phase->peak_reserved_bytes)
        phase->peak_reserved_bytes = now->reserved_bytes;
}

static bool begin_phase(ms_player *p, const ms_mark *mark, uint32_t event)
{
    ms_phase_usage phase = {.phase = mark->phase,
                            .step = mark->step,
                            .micro_step = mark->micro_step,
                            .repeats = mark->repeats,
                            .start_bytes = p->stats->allocated_bytes,
                            .peak_event = event};
    if (!ms_vec_push(&p->usage->phases, phase))
        return false;
    if (mark->step == ms_last_step_of(p->trace) && event == p->usage->steady_first_event)
        p->usage->first_steady_phase = p->usage->phases.count - 1;
    p->phase = &p->usage->phases.items[p->usage->phases.count - 1];
    raise_phase(p, event);
    return true;
}

static void end_phase(ms_player *p)
{
    p->phase->end_bytes = p->stats->allocated_bytes;
    p->phase->end_requested_bytes = p->stats->requested_bytes;
    p->phase->end_reserved_bytes = p->stats->reserved_bytes;
    p->phase = NULL;
}

/* The build is not a phase of a step; only where it ends is kept. */
static bool play_mark(ms_player *p, const ms_mark *mark, uint32_t event)
{
    if (p->phase)
        end_phase(p);
    if (mark->step == 0) {
        p->usage->after_build_bytes = p->stats->allocated_bytes;
        p->usage->build_reserved_bytes = p->stats->reserved_bytes;
        return true;
    }
    return !mark->begin || begin_phase(p, mark, event);
}

/* The steady step's own maxima and curve. */
static void note_steady(ms_player *p, uint32_t event)
{
    ms_usage *usage = p->usage;
    const ms_allocator_stats *now = p->stats;
    if (event == usage->steady_first_event)
        usage->start_bytes = now->allocated_bytes;
    if (event == usage->steady_first_event || now->allocated_bytes > usage->peak_bytes) {
        usage->peak_bytes = now->allocated_bytes;
        usage->peak_event = event;
    }
    if (now->requested_bytes > usage->peak_requested_bytes)
        usage->peak_requested_bytes = now->requested_bytes;
    if (now->reserved_bytes > usage->peak_reserved_bytes)
        usage->peak_reserved_bytes = now->reserved_bytes;
    if (usage->live_bytes) {
        usage->live_bytes[event - usage->steady_first_event] = now->allocated_bytes;
        usage->reserved_bytes[event - usage->steady_first_event] = now->reserved_bytes;
    }
}

static void note_alloc(ms_player *p, uint32_t event)
{
    ms_usage *usage = p->usage;
    if (p->stats->allocated_bytes > usage->most_bytes)
        usage->most_bytes = p->stats->allocated_bytes;
    if (p->stats->reserved_bytes > usage->most_reserved_bytes)
        usage->most_reserved_bytes = p->stats->reserved_bytes;
    if (p->phase)
        raise_phase(p, event);
}

static ms_status play_event(ms_player *p, uint32_t index, ms_error *err)
{
    const ms_event event = p->trace->events.items[index];
    bool ok = true;
    switch ((ms_event_kind)event.kind) {
    case MS_EVENT_ALLOC: {
        ms_status status = play_alloc(p, event.id, err);
        if (status == MS_OK)
            note_alloc(p, index);
        return status;
    }
    case MS_EVENT_FREE:
        play_free(p, event.id);
        break;
    case MS_EVENT_EMPTY_CACHE:
        ok = ms_allocator_empty_cache(p->allocator) == MS_OK;
        break;
    case MS_EVENT_RECORD:
        ok = play_use(p, &p->trace->uses.items[event.id]);
        break;
    case MS_EVENT_HOST_EVENT:
        ok = ms_allocator_host_event(p->allocator, event.id) == MS_OK;
        break;
    case MS_EVENT_HOST_WAIT:
        ms_allocator_host_waits(p->allocator, event.id);
        break;
    case MS_EVENT_MARK:
        ms_allocator_host_waits(p->allocator, MS_HOST_WAITS_FOR_ALL);
        ok = play_mark(p, &p->trace->marks.items[event.id], index);
        break;
    case MS_EVENT_OP_BEGIN:
    case MS_EVENT_OP_END:
    case MS_EVENT_LAYER:
    case MS_EVENT_WORK:
    case MS_EVENT_WAIT:
        break;
    }
    return ok ? MS_OK : ms_fail(err, MS_ERR_NOMEM, "out of memory while measuring the phases");
}

/* Most events are none of the allocator's; only the curve has a point for each. */
static bool is_of_allocator(const ms_event *event)
{
    switch ((ms_event_kind)event->kind) {
    case MS_EVENT_OP_BEGIN:
    case MS_EVENT_OP_END:
    case MS_EVENT_LAYER:
    case MS_EVENT_WORK:
    case MS_EVENT_WAIT:
        return false;
    case MS_EVENT_ALLOC:
    case MS_EVENT_FREE:
    case MS_EVENT_EMPTY_CACHE:
    case MS_EVENT_RECORD:
    case MS_EVENT_HOST_EVENT:
    case MS_EVENT_HOST_WAIT:
    case MS_EVENT_MARK:
        break;
    }
    return true;
}

ms_status ms_play(ms_player *p, uint32_t begin, uint32_t end, ms_error *err)
{
    const ms_event *events = p->trace->events.items;
    const bool is_drawn = p->is_steady && p->usage->live_bytes;
    for (uint32_t i = begin; i < end && !p->broken; i++) {
        if (!is_drawn && !is_of_allocator(&events[i]))
            continue;
        ms_status status = play_event(p, i, err);
        if (status != MS_OK)
            return status;
        if (p->is_steady && (is_drawn || events[i].kind != MS_EVENT_FREE))
            note_steady(p, i);
    }
    return MS_OK;
}

/* ---- whether a step can be counted twice instead of being played again ---- */

/* The allocator between two steps. */
typedef struct between {
    uint64_t layout, retries;
    bool out_of_memory;
    ms_block *blocks; /* of the storages made before the steady step; NULL: is not known */
} between;

static between remember(const ms_player *p)
{
    between b = {ms_allocator_layout(p->allocator), p->stats->retries, p->usage->out_of_memory,
                 NULL};
    size_t bytes = p->usage->first_steady_storage * sizeof *b.blocks;
    if (b.layout && bytes)
        b.blocks = malloc(bytes);
    if (b.blocks)
        memcpy(b.blocks, p->blocks, bytes);
    return b;
}

/* Whether all is where it was: then the same events come to the same figures. */
static bool is_as_before(const ms_player *p, const between *b)
{
    uint32_t first = p->usage->first_steady_storage;
    if (!b->blocks || ms_allocator_layout(p->allocator) != b->layout ||
        p->stats->retries != b->retries || p->usage->out_of_memory != b->out_of_memory ||
        memcmp(b->blocks, p->blocks, first * sizeof *b->blocks) != 0)
        return false;
    for (uint32_t i = first; i < p->trace->storages.count; i++)
        if (p->blocks[i])
            return false;
    return true;
}

/* The phases of the steady step a second time. */
static ms_status count_again(ms_player *p, ms_error *err)
{
    ms_usage *usage = p->usage;
    uint32_t first = usage->first_steady_phase, end = usage->phases.count;
    for (uint32_t i = first; i < end; i++) {
        const ms_phase_usage phase = usage->phases.items[i];
        if (!ms_vec_push(&usage->phases, phase))
            return ms_fail(err, MS_ERR_NOMEM, "out of memory while measuring the phases");
    }
    usage->first_steady_phase = end;
    return MS_OK;
}

static void forget_steady(ms_usage *usage)
{
    usage->start_bytes = usage->peak_bytes = usage->peak_requested_bytes = 0;
    usage->peak_reserved_bytes = 0;
    usage->peak_event = 0;
}

/* The steady step for the first time. *is_known: a second time it would come to the same. */
static ms_status play_first(ms_player *p, bool *is_known, ms_error *err)
{
    uint32_t steady = p->usage->steady_first_event;
    between b = remember(p);
    p->is_steady = b.blocks != NULL;
    ms_status status = ms_play(p, steady, p->usage->steady_end_event, err);
    p->is_steady = false;
    if (p->phase)
        end_phase(p);
    *is_known = status == MS_OK && is_as_before(p, &b);
    free(b.blocks);
    return status;
}

ms_status ms_play_steps(ms_player *p, bool lean, bool until_full, ms_error *err)
{
    uint32_t steady = p->usage->steady_first_event, end = p->usage->steady_end_event;
    bool is_known = false;
    ms_status status = ms_play(p, 0, steady, err);
    if (status == MS_OK && lean)
        status = play_first(p, &is_known, err);
    bool is_over = until_full && p->usage->out_of_memory;
    const ms_allocator_stats before = *p->stats;
    p->is_steady = true;
    p->is_again = lean;
    if (is_over || !is_known)
        forget_steady(p->usage);
    if (status == MS_OK && !is_over)
        status = is_known ? count_again(p, err) : ms_play(p, steady, end, err);
    if (p->phase)
        end_phase(p);
    p->usage->retries = p->stats->retries;
    p->usage->steady_retries = p->stats->retries - before.retries;
    p->usage->steady_retry_bytes = p->stats->retry_bytes - before.retry_bytes;
    return status;
}
