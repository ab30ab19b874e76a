/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "measure/usage.h"

#include <stdlib.h>

#include "allocator/waiting.h"
#include "measure/lifetime.h"

typedef struct player {
    const ms_trace *trace;
    ms_usage *usage;
    ms_allocator *allocator;
    const ms_allocator_stats *stats;
    ms_block *blocks;      /* per storage: what it was handed */
    ms_phase_usage *phase; /* the one that is open, or NULL; it may move, see begin_phase */
    bool is_steady;        /* the steady step runs: its maxima count */
    bool is_again;         /* the step was played before */
    bool goes_on;          /* without a limit, once the device is full */
    bool broken;           /* a step that is played again met tensors it had left, or left none */
} player;

static uint16_t last_step_of(const ms_trace *trace)
{
    return trace->marks.count ? trace->marks.items[trace->marks.count - 1].step : 0;
}

/* The event that opens the last step. */
static uint32_t find_steady_event(const ms_trace *trace)
{
    uint16_t last = last_step_of(trace);
    for (uint32_t i = 0; i < trace->events.count; i++) {
        const ms_event *event = &trace->events.items[i];
        if (event->kind == MS_EVENT_MARK && trace->marks.items[event->id].step == last)
            return i;
    }
    return 0;
}

static ms_status play_alloc(player *p, uint32_t storage, ms_error *err)
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

static void play_free(player *p, uint32_t storage)
{
    bool missing = p->blocks[storage] == 0 && p->trace->storages.items[storage].bytes > 0;
    p->broken = p->broken || (p->is_again && missing);
    ms_allocator_release(p->allocator, p->blocks[storage]);
    p->blocks[storage] = 0;
}

static bool play_use(player *p, const ms_use *use)
{
    return ms_allocator_record(p->allocator, p->blocks[use->storage], use->stream) == MS_OK;
}

/* Raises the open phase's maxima to what is in use now. */
static void raise_phase(player *p, uint32_t event)
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

static bool begin_phase(player *p, const ms_mark *mark, uint32_t event)
{
    ms_phase_usage phase = {.phase = mark->phase,
                            .step = mark->step,
                            .micro_step = mark->micro_step,
                            .repeats = mark->repeats,
                            .start_bytes = p->stats->allocated_bytes,
                            .peak_event = event};
    if (!ms_vec_push(&p->usage->phases, phase))
        return false;
    if (mark->step == last_step_of(p->trace) && event == p->usage->steady_first_event)
        p->usage->first_steady_phase = p->usage->phases.count - 1;
    p->phase = &p->usage->phases.items[p->usage->phases.count - 1];
    raise_phase(p, event);
    return true;
}

static void end_phase(player *p)
{
    p->phase->end_bytes = p->stats->allocated_bytes;
    p->phase->end_requested_bytes = p->stats->requested_bytes;
    p->phase->end_reserved_bytes = p->stats->reserved_bytes;
    p->phase = NULL;
}

/* The build is not a phase of a step; only where it ends is kept. */
static bool play_mark(player *p, const ms_mark *mark, uint32_t event)
{
    if (p->phase)
        end_phase(p);
    if (mark->step == 0) {
        p->usage->after_build_bytes = p->stats->allocated_bytes;
        return true;
    }
    return !mark->begin || begin_phase(p, mark, event);
}

/* The steady step's own maxima and curve. */
static void note_steady(player *p, uint32_t event)
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

static void note_alloc(player *p, uint32_t event)
{
    if (p->stats->reserved_bytes > p->usage->most_reserved_bytes)
        p->usage->most_reserved_bytes = p->stats->reserved_bytes;
    if (p->phase)
        raise_phase(p, event);
}

static ms_status play_event(player *p, uint32_t index, ms_error *err)
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
    case MS_EVENT_MARK:
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

static ms_status play(player *p, uint32_t begin, uint32_t end, ms_error *err)
{
    for (uint32_t i = begin; i < end && !p->broken; i++) {
        ms_status status = play_event(p, i, err);
        if (status != MS_OK)
            return status;
        if (p->is_steady)
            note_steady(p, i);
    }
    return MS_OK;
}

/* All events; in a lean run those of the last step twice. */
static ms_status play_steps(player *p, bool lean, bool until_full, ms_error *err)
{
    uint32_t steady = p->usage->steady_first_event, end = p->usage->steady_end_event;
    ms_status status = play(p, 0, lean ? end : steady, err);
    bool is_over = until_full && p->usage->out_of_memory;
    const ms_allocator_stats before = *p->stats;
    p->is_steady = true;
    p->is_again = lean;
    if (status == MS_OK && !is_over)
        status = play(p, steady, end, err);
    if (p->phase)
        end_phase(p);
    p->usage->retries = p->stats->retries;
    p->usage->steady_retries = p->stats->retries - before.retries;
    p->usage->steady_retry_bytes = p->stats->retry_bytes - before.retry_bytes;
    return status;
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

static bool has_tables(const player *p, int wanted)
{
    const ms_usage *usage = p->usage;
    return p->allocator && p->blocks && (!(wanted & WANTS_BLOCKS) || usage->block_bytes) &&
           (!(wanted & WANTS_CURVE) ||
            (usage->live_bytes && usage->reserved_bytes && usage->addresses));
}

/* MS_ERR_OVER_BUDGET, without a message, when the device is full and that is the end. */
static ms_status play_once(player *p, const ms_allocator_options *options, bool lean, int wanted,
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
        status = play_steps(p, lean, wanted & WANTS_VERDICT, err);
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
static ms_status measure(player *p, const ms_allocator_options *options, bool lean, int wanted,
                         ms_error *err)
{
    ms_usage limited = {0};
    player first = {.trace = p->trace, .usage = &limited, .goes_on = wanted & WANTS_VERDICT};
    ms_status status = MS_ERR_OVER_BUDGET;
    if (first.goes_on || !options->capacity_bytes ||
        !ms_lifetimes_exceed(p->trace, options->capacity_bytes))
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
    player p = {.trace = trace, .usage = usage};
    return measure(&p, options, false, WANTS_BLOCKS | WANTS_CURVE, err);
}

static ms_status measure_twice(const ms_trace *trace, const ms_allocator_options *options,
                               int wanted, ms_usage *usage, bool *repeats, ms_error *err)
{
    player p = {.trace = trace, .usage = usage};
    ms_status status = measure(&p, options, true, wanted, err);
    *repeats = !p.broken;
    return status;
}

ms_status ms_usage_measure_lean(const ms_trace *trace, const ms_allocator_options *options,
                                ms_usage *usage, bool *repeats, ms_error *err)
{
    return measure_twice(trace, options, 0, usage, repeats, err);
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

ms_status ms_usage_pieces_at(const ms_trace *trace, const ms_allocator_options *options,
                             uint32_t event, ms_allocator_pieces *pieces, ms_error *err)
{
    ms_usage usage = {.steady_first_event = UINT32_MAX};
    player p = {.trace = trace,
                .usage = &usage,
                .allocator = ms_allocator_create(options),
                .goes_on = true};
    ms_status status = MS_ERR_NOMEM;
    p.blocks = zeroed(trace->storages.count, sizeof *p.blocks);
    if (has_tables(&p, 0)) {
        p.stats = ms_allocator_stats_of(p.allocator);
        status = play(&p, 0, event + 1, err);
    }
    if (status == MS_OK && !ms_allocator_list(p.allocator, pieces))
        status = MS_ERR_NOMEM;
    free(p.blocks);
    ms_allocator_free(p.allocator);
    ms_usage_free(&usage);
    return status == MS_ERR_NOMEM ? ms_fail(err, status, "no memory for the allocator's segments")
                                  : status;
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
