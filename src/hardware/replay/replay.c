/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "hardware/replay/replay.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "core/allocator/waiting.h"
#include "core/trace/trace.h"
#include "hardware/replay/backend.h"
#include "hardware/replay/replay_work.h"

typedef struct ms_replay_source {
    ms_backend *backend;
    uint64_t reserved_bytes, most_reserved_bytes; /* segments, and pages mapped */
    uint64_t most_used_bytes;                     /* as the driver shows it */
    ms_error failure; /* the latest; one that the allocator recovers from is no failure */
} ms_replay_source;

/* ---- replay check ---- */

static bool has_first_streams(const ms_trace *trace)
{
    static const uint8_t kinds[MS_FIRST_STREAMS] = {
        [MS_STREAM_OPERATORS] = MS_STREAM_COMPUTE,
        [MS_STREAM_TO_DEVICE] = MS_STREAM_COPY,
        [MS_STREAM_TO_HOST] = MS_STREAM_COPY,
        [MS_STREAM_UPDATES] = MS_STREAM_HOST,
    };
    bool ok = trace->streams.count >= MS_FIRST_STREAMS;
    for (uint32_t i = 0; ok && i < MS_FIRST_STREAMS; i++)
        ok = trace->streams.items[i].kind == kinds[i];
    return ok;
}

/* The last mark ends a phase of a step. */
static bool has_step(const ms_trace *trace)
{
    uint32_t count = trace->marks.count;
    const ms_mark *last = count ? &trace->marks.items[count - 1] : NULL;
    return last && last->step > 0 && !last->begin;
}

/* Each is a thread, or a stream of the device. */
enum { MOST_STREAMS = 64 };

ms_status ms_replay_check(const ms_trace *trace, ms_error *err)
{
    if (!has_first_streams(trace))
        return ms_fail(err, MS_ERR_CONFIG,
                       "it cannot be run: its first %d streams must be for operators, copies to "
                       "the device, copies to the host, and updates on the host",
                       MS_FIRST_STREAMS);
    if (trace->streams.count > MOST_STREAMS)
        return ms_fail(err, MS_ERR_CONFIG, "it cannot be run: it has more than %d streams",
                       MOST_STREAMS);
    if (!has_step(trace))
        return ms_fail(err, MS_ERR_CONFIG, "it cannot be run: it has no complete step");
    return MS_OK;
}

/* ---- replay source ---- */

/* A backend's memory as an allocator's source, which counts what it gives. */

/* Looks at what the driver shows: libraries, and other programs, take memory at any time. */
static ms_status replay_source_look(ms_replay_source *s, ms_error *err)
{
    uint64_t used = 0;
    ms_status status = s->backend->calls->used(s->backend, &used, err);
    if (status == MS_OK && used > s->most_used_bytes)
        s->most_used_bytes = used;
    return status;
}

static ms_status count(ms_replay_source *s, uint64_t bytes)
{
    s->reserved_bytes += bytes;
    if (s->reserved_bytes > s->most_reserved_bytes)
        s->most_reserved_bytes = s->reserved_bytes;
    return replay_source_look(s, &s->failure);
}

static ms_status reserve(void *context, ms_memory_kind kind, uint64_t bytes, uint32_t stream,
                         uint64_t *address)
{
    ms_replay_source *s = context;
    (void)stream; /* the driver's segments belong to no stream */
    s->failure = (ms_error){0};
    ms_status status = s->backend->calls->reserve(s->backend, kind, bytes, address, &s->failure);
    if (status != MS_OK || kind == MS_MEMORY_ADDRESSES)
        return status;
    status = count(s, bytes);
    if (status != MS_OK) {
        s->backend->calls->release(s->backend, kind, *address, bytes);
        s->reserved_bytes -= bytes;
    }
    return status;
}

static void release(void *context, ms_memory_kind kind, uint64_t address, uint64_t bytes)
{
    ms_replay_source *s = context;
    s->backend->calls->release(s->backend, kind, address, bytes);
    if (kind == MS_MEMORY_BACKED)
        s->reserved_bytes -= bytes;
}

static ms_status map(void *context, uint64_t address, uint64_t bytes)
{
    ms_replay_source *s = context;
    s->failure = (ms_error){0};
    ms_status status = s->backend->calls->map(s->backend, address, bytes, &s->failure);
    if (status != MS_OK)
        return status;
    status = count(s, bytes);
    if (status != MS_OK) {
        s->backend->calls->unmap(s->backend, address, bytes);
        s->reserved_bytes -= bytes;
    }
    return status;
}

static void unmap(void *context, uint64_t address, uint64_t bytes)
{
    ms_replay_source *s = context;
    s->backend->calls->unmap(s->backend, address, bytes);
    s->reserved_bytes -= bytes;
}

/* `source` must outlive what takes memory from it. */
static ms_memory replay_source_memory(ms_replay_source *source)
{
    return (ms_memory){source, reserve, release, map, unmap};
}

/* ---- replay ---- */

typedef struct replay {
    ms_backend *backend;
    const ms_trace *trace;
    const ms_replay_options *options;
    ms_replay_result *result;
    ms_replay_source source;
    ms_replay_work work;
    ms_host_copies copies;
    ms_allocator *allocator;
    ms_block *blocks;    /* per storage */
    uint64_t *addresses; /* per storage; 0: none */
    uint64_t allocated_bytes, requested_bytes, category_bytes[MS_CATEGORY_COUNT];
    uint64_t waiting_bytes; /* requested, of blocks that were released and wait for a stream */
    ms_replay_phase *phase; /* the one that is open, or NULL; the array may move when one begins */
    uint32_t steady_event;  /* the first of the steady step */
    uint32_t op;            /* begun, but not run yet; MS_NONE: none */
    ms_error *err;
} replay;

static ms_status no_memory(ms_error *err)
{
    return ms_fail(err, MS_ERR_NOMEM, "no memory for a replay");
}

static uint32_t find_steady_event(const ms_trace *trace)
{
    uint16_t last = trace->marks.count ? trace->marks.items[trace->marks.count - 1].step : 0;
    for (uint32_t i = 0; i < trace->events.count; i++) {
        const ms_event *event = &trace->events.items[i];
        if (event->kind == MS_EVENT_MARK && trace->marks.items[event->id].step == last)
            return i;
    }
    return 0;
}

/* ---- what is in use ---- */

static void raise(uint64_t *most, uint64_t now)
{
    if (now > *most)
        *most = now;
}

static void note_peak(replay *r, uint32_t event)
{
    ms_replay_result *result = r->result;
    if (r->allocated_bytes <= result->peak_bytes)
        return;
    result->peak_bytes = r->allocated_bytes;
    result->peak_event = event;
    result->peak_phase = r->phase ? r->phase->phase : MS_PHASE_BUILD;
    result->peak_micro_step = r->phase ? r->phase->micro_step : 0;
    memcpy(result->category_bytes, r->category_bytes, sizeof result->category_bytes);
}

/* Before rounding, as PyTorch counts it: what waits for a stream is in it. The allocator ends all
 * waits at once. */
static uint64_t requested(replay *r)
{
    if (ms_allocator_stats_of(r->allocator)->waiting_bytes == 0)
        r->waiting_bytes = 0;
    return r->requested_bytes + r->waiting_bytes;
}

static void note(replay *r, uint32_t event)
{
    uint64_t reserved = r->source.reserved_bytes, asked = requested(r);
    if (r->phase && r->allocated_bytes > r->phase->peak_bytes) {
        r->phase->peak_bytes = r->allocated_bytes;
        r->phase->peak_event = event;
    }
    if (r->phase) {
        raise(&r->phase->peak_reserved_bytes, reserved);
        raise(&r->phase->peak_requested_bytes, asked);
    }
    raise(&r->result->peak_reserved_bytes, reserved);
    note_peak(r, event);
}

/* What came before counts no more. */
static void begin_steady(replay *r)
{
    ms_replay_result *result = r->result;
    result->has_steady = true;
    result->first_steady_phase = result->phases.count;
    result->start_bytes = r->allocated_bytes;
    result->peak_bytes = result->peak_reserved_bytes = 0;
    r->work.is_on = !r->options->is_memory_only;
}

static ms_status begin_phase(replay *r, const ms_mark *mark, uint32_t event)
{
    const ms_replay_phase phase = {.phase = mark->phase,
                                   .step = mark->step,
                                   .micro_step = mark->micro_step,
                                   .repeats = mark->repeats,
                                   .start_bytes = r->allocated_bytes,
                                   .peak_event = event};
    if (!ms_vec_push(&r->result->phases, phase))
        return no_memory(r->err);
    r->phase = &r->result->phases.items[r->result->phases.count - 1];
    if (!r->work.is_on)
        return MS_OK;
    return ms_replay_clock_mark(&r->work.clock, r->work.lanes[MS_STREAM_OPERATORS].stream,
                                r->result->phases.count - 1, MS_REPLAY_BETWEEN, r->err);
}

static ms_status play_mark(replay *r, const ms_mark *mark, uint32_t event)
{
    ms_status status = replay_source_look(&r->source, r->err);
    if (status != MS_OK)
        return status;
    if (event == r->steady_event)
        begin_steady(r);
    if (r->phase) {
        r->phase->end_bytes = r->allocated_bytes;
        r->phase->end_requested_bytes = requested(r);
        r->phase->end_reserved_bytes = r->source.reserved_bytes;
        r->phase = NULL;
    }
    if (mark->step == 0)
        r->result->after_build_bytes = r->allocated_bytes;
    return mark->step > 0 && mark->begin ? begin_phase(r, mark, event) : MS_OK;
}

/* ---- memory ---- */

static ms_status set_workspace(replay *r, uint32_t storage, uint64_t bytes)
{
    if (r->options->is_memory_only ||
        r->trace->storages.items[storage].category != MS_CATEGORY_WORKSPACE)
        return MS_OK;
    return r->backend->calls->set_workspace(r->backend, r->addresses[storage], bytes, r->err);
}

static ms_status explain(const replay *r, ms_status status, uint64_t bytes)
{
    const char *why = r->source.failure.text;
    if (r->source.failure.status == status && *why)
        return ms_fail(r->err, status, "%s", why);
    if (status == MS_ERR_OVERFLOW)
        return ms_fail(r->err, status, "the tensors of this run exceed 2^62 bytes");
    if (status == MS_ERR_OVER_BUDGET)
        return ms_fail(r->err, status, "%llu bytes more do not fit the capacity of the run",
                       (unsigned long long)bytes);
    return no_memory(r->err);
}

static ms_status play_alloc(replay *r, uint32_t storage)
{
    const ms_storage *s = &r->trace->storages.items[storage];
    ms_block block = 0;
    r->source.failure = (ms_error){0};
    ms_status status = ms_allocator_allocate(r->allocator, s->bytes, s->stream, &block);
    if (status != MS_OK)
        return explain(r, status, s->bytes);
    r->blocks[storage] = block;
    if (!block)
        return MS_OK;
    uint64_t bytes = ms_allocator_block_bytes(r->allocator, block);
    r->addresses[storage] = ms_allocator_block_address(r->allocator, block);
    r->allocated_bytes += bytes;
    r->requested_bytes += s->bytes;
    r->category_bytes[s->category] += bytes;
    if (!r->options->is_memory_only)
        status = ms_replay_work_allocated(&r->work, storage, bytes, r->err);
    return status == MS_OK ? set_workspace(r, storage, s->bytes) : status;
}

static ms_status play_free(replay *r, uint32_t storage)
{
    ms_block block = r->blocks[storage];
    if (!block)
        return MS_OK;
    uint64_t bytes = ms_allocator_block_bytes(r->allocator, block);
    ms_status status = ms_replay_work_released(&r->work, storage, r->err);
    if (status == MS_OK)
        status = set_workspace(r, storage, 0);
    r->allocated_bytes -= bytes;
    r->requested_bytes -= r->trace->storages.items[storage].bytes;
    r->category_bytes[r->trace->storages.items[storage].category] -= bytes;
    const ms_allocator_stats *stats = ms_allocator_stats_of(r->allocator);
    uint64_t waiting = stats->waiting_bytes;
    ms_allocator_release(r->allocator, block);
    if (stats->waiting_bytes > waiting)
        r->waiting_bytes += r->trace->storages.items[storage].bytes;
    r->blocks[storage] = 0;
    r->addresses[storage] = 0;
    return status;
}

static ms_status play_use(replay *r, const ms_use *use)
{
    ms_block block = r->blocks[use->storage];
    if (ms_allocator_record(r->allocator, block, use->stream) != MS_OK)
        return no_memory(r->err);
    return block ? ms_replay_work_use(&r->work, use, r->err) : MS_OK;
}

/* ---- events ---- */

/* An operator runs where it ends, as its outputs are made meanwhile; before work that it begins,
 * which copies them. */
static ms_status run_operator(replay *r)
{
    uint32_t op = r->op;
    r->op = MS_NONE;
    return op == MS_NONE
               ? MS_OK
               : ms_replay_work_operator(&r->work, op, r->result->phases.count - 1, r->err);
}

static ms_status play_work(replay *r, uint32_t work)
{
    ms_status status = run_operator(r);
    if (status != MS_OK)
        return status;
    return ms_replay_work_begin(&r->work, work, r->result->phases.count - 1, r->err);
}

static ms_status play_event(replay *r, uint32_t index)
{
    const ms_event event = r->trace->events.items[index];
    switch ((ms_event_kind)event.kind) {
    case MS_EVENT_ALLOC:
        return play_alloc(r, event.id);
    case MS_EVENT_FREE:
        return play_free(r, event.id);
    case MS_EVENT_EMPTY_CACHE:
        return ms_allocator_empty_cache(r->allocator) == MS_OK ? MS_OK : no_memory(r->err);
    case MS_EVENT_HOST_EVENT:
        return ms_allocator_host_event(r->allocator, event.id) == MS_OK ? MS_OK : no_memory(r->err);
    case MS_EVENT_HOST_WAIT:
        ms_allocator_host_waits(r->allocator, event.id);
        break;
    case MS_EVENT_RECORD:
        return play_use(r, &r->trace->uses.items[event.id]);
    case MS_EVENT_MARK:
        ms_allocator_host_waits(r->allocator, MS_HOST_WAITS_FOR_ALL);
        return play_mark(r, &r->trace->marks.items[event.id], index);
    case MS_EVENT_OP_BEGIN:
        r->op = event.id;
        break;
    case MS_EVENT_OP_END:
        return run_operator(r);
    case MS_EVENT_WORK:
        return play_work(r, event.id);
    case MS_EVENT_WAIT:
        return ms_replay_work_wait(&r->work, event.id, r->result->phases.count - 1, r->err);
    case MS_EVENT_LAYER:
        return ms_replay_work_layer(&r->work, event.id, r->err);
    }
    return MS_OK;
}

static ms_status play(replay *r)
{
    for (uint32_t i = 0; i < r->trace->events.count; i++) {
        if (ms_stop_asked(r->options->stop))
            return ms_fail(r->err, MS_ERR_STOPPED, "the replay was stopped");
        ms_status status = play_event(r, i);
        if (status != MS_OK)
            return status;
        note(r, i);
        r->result->played_events = i + 1;
    }
    return MS_OK;
}

/* The last mark ends the step; then all is done, and the times can be read. */
static ms_status finish(replay *r)
{
    ms_replay_work *work = &r->work;
    if (r->options->is_memory_only || !r->result->has_steady || r->result->phases.count == 0)
        return replay_source_look(&r->source, r->err);
    ms_status status = ms_replay_clock_mark(&work->clock, work->lanes[MS_STREAM_OPERATORS].stream,
                                            r->result->phases.count - 1, MS_REPLAY_TIMES, r->err);
    if (status == MS_OK)
        status = r->backend->calls->synchronize(r->backend, NULL, r->err);
    if (status == MS_OK)
        status = replay_source_look(&r->source, r->err);
    r->result->has_times = status == MS_OK && !r->backend->facts.is_simulated;
    return status == MS_OK ? ms_replay_clock_read(&work->clock, r->result, r->err) : status;
}

/* ---- all of it ---- */

static ms_status open_all(replay *r)
{
    size_t count = (size_t)r->trace->storages.count + 1;
    const ms_memory memory = replay_source_memory(&r->source);
    r->allocator = ms_allocator_create_on(&r->options->allocator, &memory);
    r->blocks = calloc(count, sizeof *r->blocks);
    r->addresses = calloc(count, sizeof *r->addresses);
    if (!r->allocator || !r->blocks || !r->addresses)
        return no_memory(r->err);
    r->work.addresses = r->addresses;
    ms_status status = MS_OK;
    if (r->options->keeps_host_copies) {
        status = ms_host_copies_open(&r->copies, r->trace, r->backend, r->err);
        r->work.copies = &r->copies;
    }
    if (status == MS_OK && !r->options->is_memory_only)
        status = ms_replay_work_open(&r->work, r->err);
    if (status == MS_OK)
        status = replay_source_look(&r->source, r->err);
    if (status == MS_OK && r->source.most_used_bytes >= r->result->landing_bytes)
        r->result->before_used_bytes = r->source.most_used_bytes - r->result->landing_bytes;
    return status;
}

static void close_all(replay *r)
{
    ms_error ignored = {0};
    (void)r->backend->calls->synchronize(r->backend, NULL, &ignored);
    if (r->result->played_events < r->result->event_count)
        (void)replay_source_look(&r->source, &ignored);
    if (r->allocator) {
        r->result->retries = ms_allocator_stats_of(r->allocator)->retries;
        ms_allocator_free(r->allocator);
    }
    r->result->most_reserved_bytes = r->source.most_reserved_bytes;
    r->result->most_used_bytes = r->source.most_used_bytes;
    r->result->host_copy_bytes = r->copies.most_bytes;
    ms_replay_work_close(&r->work);
    ms_host_copies_close(&r->copies);
    free(r->blocks);
    free(r->addresses);
}

ms_status ms_replay_run(ms_backend *backend, const ms_trace *trace,
                        const ms_replay_options *options, ms_replay_result *result, ms_error *err)
{
    replay r = {.backend = backend,
                .trace = trace,
                .options = options,
                .result = result,
                .source = {.backend = backend, .most_used_bytes = backend->facts.first_used_bytes},
                .work = {.backend = backend,
                         .trace = trace,
                         .clock = {.measures_link = options->keeps_host_copies},
                         .result = result,
                         .stop = options->stop,
                         .feed = options->feed},
                .steady_event = find_steady_event(trace),
                .op = MS_NONE,
                .err = err};
    *result = (ms_replay_result){.event_count = trace->events.count,
                                 .before_used_bytes = backend->facts.first_used_bytes};
    r.work.clock.backend = backend;
    ms_status status = open_all(&r);
    if (status == MS_OK)
        status = play(&r);
    if (status == MS_OK)
        status = finish(&r);
    close_all(&r);
    return status;
}

void ms_replay_free(ms_replay_result *result)
{
    ms_vec_free(&result->phases);
}

uint64_t ms_replay_own_bytes(const ms_trace *trace)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < trace->streams.count; i++)
        bytes += ms_replay_work_needs(trace, NULL, i).landing_bytes;
    return bytes;
}

ms_allocator_options ms_replay_allocator(const ms_allocator_options *run,
                                         const ms_backend_facts *facts, uint64_t own_bytes)
{
    ms_allocator_options options = *run;
    uint64_t used = facts->first_used_bytes + own_bytes, total = facts->total_bytes;
    uint64_t left = total > used ? total - used : 1;
    if (options.capacity_bytes == 0 || options.capacity_bytes > left)
        options.capacity_bytes = left;
    if (options.device_bytes == 0 || facts->is_host)
        options.device_bytes = total;
    return options;
}
