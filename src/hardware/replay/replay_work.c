/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "hardware/replay/replay_work.h"

#include <stdlib.h>
#include <string.h>

#include "core/trace/busy.h"
#include "hardware/replay/replay_operator.h"

/* ---- replay warm up ---- */

/* What only a first run takes is kept out of the step: libraries load the code of a product when
 * its shape first comes. */

typedef ms_vec(ms_backend_product) product_list;

static bool has_shape(const product_list *list, const ms_backend_product *p)
{
    for (uint32_t i = 0; i < list->count; i++) {
        const ms_backend_product *q = &list->items[i];
        if (q->batches == p->batches && q->rows == p->rows && q->inner == p->inner &&
            q->columns == p->columns && q->dtype == p->dtype && q->transposed == p->transposed)
            return true;
    }
    return false;
}

/* Each at the beginning of a part of the scratch; returns how much of it that takes. */
static uint64_t place_in(ms_backend_product *p, uint64_t scratch)
{
    enum { ALIGNMENT = 512 };
    uint64_t unit = p->batches * ms_dtype_bytes(p->dtype);
    const uint64_t sizes[] = {unit * p->rows * p->inner, unit * p->inner * p->columns,
                              unit * p->rows * p->columns};
    uint64_t *const places[] = {&p->a, &p->b, &p->c}, at = 0;
    for (int i = 0; i < 3; i++) {
        *places[i] = scratch + at;
        at += (sizes[i] + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }
    return at;
}

/* The shape of the whole parts, and those of what is left over in each direction. */
static bool list_parts(const ms_gemm *whole, const ms_backend_product *most, product_list *list)
{
    enum { CORNERS = 16 };
    const uint64_t left[] = {whole->batches % most->batches, whole->rows % most->rows,
                             whole->inner % most->inner, whole->columns % most->columns};
    bool ok = true;
    for (unsigned corner = 0; corner < CORNERS && ok; corner++) {
        ms_backend_product part = *most;
        uint64_t *const sizes[] = {&part.batches, &part.rows, &part.inner, &part.columns};
        for (unsigned i = 0; i < 4; i++)
            *sizes[i] = corner >> i & 1 ? left[i] : *sizes[i];
        bool is_empty = !part.batches || !part.rows || !part.inner || !part.columns;
        ok = is_empty || has_shape(list, &part) || ms_vec_push(list, part);
    }
    return ok;
}

static bool list_products(const ms_replay_work *r, uint32_t op, product_list *list)
{
    const ms_op_exec *o = &r->trace->ops.items[op];
    for (uint32_t i = 0; i < o->product_count; i++) {
        const ms_gemm *whole = &r->trace->products.items[o->first_product + i];
        ms_backend_product most;
        if (ms_replay_operator_fit(r, o, whole, &most) && !list_parts(whole, &most, list))
            return false;
    }
    return true;
}

/* As they will run: with the storages that have memory by then, and where the replay runs them. */
static bool list_shapes(ms_replay_work *r, product_list *list)
{
    const ms_trace *trace = r->trace;
    uint32_t op = MS_NONE;
    bool ok = true;
    for (uint32_t i = 0; i < trace->events.count && ok; i++) {
        const ms_event event = trace->events.items[i];
        if (event.kind == MS_EVENT_ALLOC)
            r->addresses[event.id] = trace->storages.items[event.id].bytes > 0;
        else if (event.kind == MS_EVENT_FREE)
            r->addresses[event.id] = 0;
        else if (event.kind == MS_EVENT_OP_BEGIN)
            op = event.id;
        else if (op != MS_NONE && (event.kind == MS_EVENT_OP_END || event.kind == MS_EVENT_WORK)) {
            ok = list_products(r, op, list);
            op = MS_NONE;
        }
    }
    memset(r->addresses, 0, trace->storages.count * sizeof *r->addresses);
    return ok;
}

static ms_status run_shape(const ms_replay_work *r, const ms_backend_product *product,
                           ms_error *err)
{
    if (ms_stop_asked(r->stop))
        return ms_fail(err, MS_ERR_STOPPED, "the replay was stopped");
    return r->backend->calls->product(r->backend, r->lanes[MS_STREAM_OPERATORS].stream, product,
                                      err);
}

static ms_status run_list(ms_replay_work *r, product_list *list, uint64_t bytes, ms_error *err)
{
    const ms_backend_calls *calls = r->backend->calls;
    uint64_t scratch = 0;
    ms_status status = calls->reserve(r->backend, MS_MEMORY_BACKED, bytes, &scratch, err);
    if (status != MS_OK)
        return status;
    for (uint32_t i = 0; i < list->count && status == MS_OK; i++) {
        (void)place_in(&list->items[i], scratch);
        status = run_shape(r, &list->items[i], err);
    }
    if (status == MS_OK)
        status = calls->synchronize(r->backend, NULL, err);
    calls->release(r->backend, MS_MEMORY_BACKED, scratch, bytes);
    return status;
}

/* Runs each shape of product of the trace once, uncounted, while no storage has memory. Nothing
 * runs where the device has no room for the largest. */
static ms_status replay_warm_up(ms_replay_work *r, ms_error *err)
{
    product_list list = {0};
    ms_error failure = {0};
    uint64_t most = 0;
    bool is_listed = list_shapes(r, &list);
    for (uint32_t i = 0; i < list.count; i++) {
        uint64_t bytes = place_in(&list.items[i], 0);
        most = bytes > most ? bytes : most;
    }
    ms_status status = is_listed ? MS_OK : ms_fail(err, MS_ERR_NOMEM, "no memory for a replay");
    if (status == MS_OK && most > 0)
        status = run_list(r, &list, most, &failure);
    ms_vec_free(&list);
    if (status == MS_ERR_OVER_BUDGET)
        return MS_OK; /* then the step says whether it fits */
    if (failure.status != MS_OK)
        *err = failure;
    return status;
}

/* ---- replay clock ---- */

static void replay_clock_free(ms_replay_clock *clock)
{
    for (uint32_t i = 0; i < clock->events.count; i++)
        clock->backend->calls->close_event(clock->backend, clock->events.items[i]);
    ms_vec_free(&clock->events);
    ms_vec_free(&clock->marks);
    ms_vec_free(&clock->spans);
}

/* An event that lives as long as the clock. */
static ms_status replay_clock_event(ms_replay_clock *clock, ms_backend_event **event, ms_error *err)
{
    if (!ms_vec_reserve(&clock->events))
        return ms_fail(err, MS_ERR_NOMEM, "no memory for the events of a replay");
    ms_status status = clock->backend->calls->open_event(clock->backend, event, err);
    if (status == MS_OK)
        (void)ms_vec_push(&clock->events, *event);
    return status;
}

static bool does_that(const ms_replay_clock *clock, uint32_t phase, uint8_t what)
{
    uint32_t count = clock->marks.count;
    return count > 0 && clock->marks.items[count - 1].phase == phase &&
           clock->marks.items[count - 1].what == what;
}

ms_status ms_replay_clock_mark(ms_replay_clock *clock, ms_backend_stream *stream, uint32_t phase,
                               uint8_t what, ms_error *err)
{
    ms_replay_mark mark = {.phase = phase, .what = what};
    if (does_that(clock, phase, what))
        return MS_OK;
    ms_status status = replay_clock_event(clock, &mark.event, err);
    if (status == MS_OK)
        status = clock->backend->calls->record(clock->backend, mark.event, stream, err);
    if (status == MS_OK && !ms_vec_push(&clock->marks, mark))
        status = ms_fail(err, MS_ERR_NOMEM, "no memory for the times of a replay");
    return status;
}

/* From the first mark. */
static ms_status add_copy(const ms_replay_clock *clock, const ms_replay_span *span,
                          ms_busy_spans *copies, ms_error *err)
{
    const ms_backend_calls *calls = clock->backend->calls;
    ms_backend_event *first = clock->marks.items[0].event;
    ms_busy_span copy = {.weight = span->repeats};
    ms_status status = calls->elapsed(clock->backend, first, span->begin, &copy.begin_ms, err);
    if (status == MS_OK)
        status = calls->elapsed(clock->backend, first, span->end, &copy.end_ms, err);
    if (status == MS_OK && !ms_vec_push(copies, copy))
        status = ms_fail(err, MS_ERR_NOMEM, "no memory for the times of a replay");
    return status;
}

static ms_status read_link(const ms_replay_clock *clock, ms_replay_result *result, ms_error *err)
{
    ms_busy_spans copies = {0};
    ms_status status = MS_OK;
    for (uint32_t i = 0; i < clock->spans.count && status == MS_OK; i++)
        if (!clock->spans.items[i].is_host)
            status = add_copy(clock, &clock->spans.items[i], &copies, err);
    if (status == MS_OK)
        result->link_busy_ms = ms_busy_ms(&copies);
    ms_vec_free(&copies);
    return status;
}

ms_status ms_replay_clock_read(const ms_replay_clock *clock, ms_replay_result *result,
                               ms_error *err)
{
    const ms_backend_calls *calls = clock->backend->calls;
    double ms = 0;
    ms_status status = MS_OK;
    for (uint32_t i = 0; i + 1 < clock->marks.count && status == MS_OK; i++) {
        const ms_replay_mark *mark = &clock->marks.items[i];
        ms_replay_phase *phase = &result->phases.items[mark->phase];
        status = calls->elapsed(clock->backend, mark->event, mark[1].event, &ms, err);
        ms *= phase->repeats;
        phase->ms += ms;
        result->times_ms[mark->what] += ms;
        result->step_ms += ms;
    }
    for (uint32_t i = 0; i < clock->spans.count && status == MS_OK; i++) {
        const ms_replay_span *span = &clock->spans.items[i];
        status = calls->elapsed(clock->backend, span->begin, span->end, &ms, err);
        *(span->is_host ? &result->host_ms : &result->copy_ms) += ms * span->repeats;
    }
    if (status == MS_OK && clock->measures_link && clock->marks.count)
        status = read_link(clock, result, err);
    return status;
}

/* ---- replay work ---- */

/* Larger copies go in pieces through buffers of this size. */
#define STAGING_BYTES (UINT64_C(64) << 20)
#define LANDING_BYTES (UINT64_C(16) << 20)

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static ms_status no_memory(ms_error *err)
{
    return ms_fail(err, MS_ERR_NOMEM, "no memory for a replay");
}

/* ---- opening and closing ---- */

/* The tensor of a copy on the device, or MS_NONE. */
static uint32_t end_on_device(const ms_work *w)
{
    return w->kind == MS_WORK_TO_DEVICE ? w->target : w->source;
}

ms_replay_needs ms_replay_work_needs(const ms_trace *trace, const ms_host_copies *copies,
                                     uint32_t stream)
{
    ms_replay_needs most = {.landing_bytes = stream == MS_STREAM_OPERATORS ? LANDING_BYTES : 0};
    for (uint32_t i = 0; i < trace->works.count; i++) {
        const ms_work *w = &trace->works.items[i];
        uint64_t staging = least(w->bytes, STAGING_BYTES), landing = least(w->bytes, LANDING_BYTES);
        bool is_kept = copies && ms_host_copies_has(copies, w);
        bool lands = w->kind != MS_WORK_HOST_UPDATE && end_on_device(w) == MS_NONE;
        if (w->stream == stream && !is_kept && staging > most.staging_bytes)
            most.staging_bytes = staging;
        if (w->stream == stream && lands && landing > most.landing_bytes)
            most.landing_bytes = landing;
    }
    return most;
}

static ms_status open_lane(ms_replay_work *r, uint32_t number, ms_error *err)
{
    const ms_backend_calls *calls = r->backend->calls;
    const ms_replay_needs most = ms_replay_work_needs(r->trace, r->copies, number);
    ms_replay_lane *lane = &r->lanes[number];
    ms_status status = calls->open_stream(r->backend, &lane->stream, err);
    bool needs_staging = most.staging_bytes > 0 && !(r->feed && number == MS_STREAM_TO_DEVICE);
    if (status == MS_OK && needs_staging) {
        status = calls->pin(r->backend, most.staging_bytes, true, &lane->staging, err);
        lane->staging_bytes = status == MS_OK ? most.staging_bytes : 0;
    }
    if (status == MS_OK && most.landing_bytes > 0) {
        status =
            calls->reserve(r->backend, MS_MEMORY_BACKED, most.landing_bytes, &lane->landing, err);
        lane->landing_bytes = status == MS_OK ? most.landing_bytes : 0;
        r->result->landing_bytes += lane->landing_bytes;
    }
    return status;
}

ms_status ms_replay_work_open(ms_replay_work *r, ms_error *err)
{
    r->clock.backend = r->backend;
    r->lanes = calloc((size_t)r->trace->streams.count + 1, sizeof *r->lanes);
    r->ends = calloc((size_t)r->trace->works.count + 1, sizeof *r->ends);
    if (!r->lanes || !r->ends)
        return no_memory(err);
    ms_status status = replay_clock_event(&r->clock, &r->issued, err);
    for (uint32_t i = 0; i < r->trace->streams.count && status == MS_OK; i++)
        status = open_lane(r, i, err);
    return status == MS_OK ? replay_warm_up(r, err) : status;
}

static void close_lane(ms_replay_work *r, const ms_replay_lane *lane)
{
    const ms_backend_calls *calls = r->backend->calls;
    if (lane->stream)
        calls->close_stream(r->backend, lane->stream);
    if (lane->staging_bytes)
        calls->unpin(r->backend, lane->staging, lane->staging_bytes, true);
    if (lane->landing_bytes)
        calls->release(r->backend, MS_MEMORY_BACKED, lane->landing, lane->landing_bytes);
}

void ms_replay_work_close(ms_replay_work *r)
{
    ms_error ignored = {0};
    (void)r->backend->calls->synchronize(r->backend, NULL, &ignored);
    for (uint32_t i = 0; r->lanes && i < r->trace->streams.count; i++)
        close_lane(r, &r->lanes[i]);
    replay_clock_free(&r->clock);
    ms_vec_free(&r->flights);
    ms_vec_free(&r->uses);
    free(r->lanes);
    free(r->ends);
}

/* ---- memory that several streams use ---- */

ms_status ms_replay_work_use(ms_replay_work *r, const ms_use *use, ms_error *err)
{
    if (!r->is_on)
        return MS_OK;
    return ms_vec_push(&r->uses, *use) ? MS_OK : no_memory(err);
}

static ms_status remember(ms_replay_work *r, const ms_use *use, ms_error *err)
{
    ms_replay_flight flight = {.address = r->addresses[use->storage],
                               .bytes = r->trace->storages.items[use->storage].bytes,
                               .stream = use->stream};
    ms_status status = replay_clock_event(&r->clock, &flight.event, err);
    if (status == MS_OK)
        status =
            r->backend->calls->record(r->backend, flight.event, r->lanes[use->stream].stream, err);
    if (status == MS_OK && !ms_vec_push(&r->flights, flight))
        status = no_memory(err);
    return status;
}

ms_status ms_replay_work_released(ms_replay_work *r, uint32_t storage, ms_error *err)
{
    uint32_t left = 0;
    ms_status status = MS_OK;
    for (uint32_t i = 0; i < r->uses.count; i++) {
        const ms_use use = r->uses.items[i];
        if (use.storage != storage)
            r->uses.items[left++] = use;
        else if (status == MS_OK)
            status = remember(r, &use, err);
    }
    r->uses.count = left;
    return status;
}

/* A block comes again on its own stream only, so whoever waited for it need not wait again. */
ms_status ms_replay_work_allocated(ms_replay_work *r, uint32_t storage, uint64_t bytes,
                                   ms_error *err)
{
    uint64_t begin = r->addresses[storage], end = begin + bytes;
    ms_backend_stream *own = r->lanes[r->trace->storages.items[storage].stream].stream;
    uint32_t left = 0;
    ms_status status = MS_OK;
    for (uint32_t i = 0; i < r->flights.count; i++) {
        const ms_replay_flight f = r->flights.items[i];
        bool meets = f.address < end && begin < f.address + f.bytes;
        if (meets && status == MS_OK)
            status = r->backend->calls->wait(r->backend, f.event, own, err);
        if (!meets || f.address < begin || f.address + f.bytes > end)
            r->flights.items[left++] = f;
    }
    r->flights.count = left;
    return status;
}

/* ---- operators ---- */

ms_status ms_replay_work_operator(ms_replay_work *r, uint32_t op, uint32_t phase, ms_error *err)
{
    const ms_op_exec *o = &r->trace->ops.items[op];
    if (!r->is_on)
        return MS_OK;
    ms_backend_stream *stream = r->lanes[MS_STREAM_OPERATORS].stream;
    ms_op_class class = ms_op_class_of(o->name, o->flops > 0);
    ms_status status = ms_replay_clock_mark(&r->clock, stream, phase, (uint8_t) class, err);
    return status == MS_OK ? ms_replay_operator_run(r, o, stream, err) : status;
}

/* ---- work of other streams ---- */

/* The device's end of a copy: its tensor where that has memory, else the place for several. */
typedef struct place {
    uint64_t address, bytes;
} place;

static place place_of(const ms_replay_work *r, const ms_work *w)
{
    const ms_replay_lane *lane = &r->lanes[w->stream];
    uint32_t storage = end_on_device(w);
    if (storage == MS_NONE || r->addresses[storage] == 0)
        return (place){lane->landing, lane->landing_bytes};
    return (place){r->addresses[storage], r->trace->storages.items[storage].bytes};
}

static bool is_fed(const ms_replay_work *r, const ms_work *w)
{
    return r->feed && w->kind == MS_WORK_TO_DEVICE;
}

/* From or to the host's own copy. */
static ms_status copy_once(ms_replay_work *r, const ms_work *w, void *memory, ms_error *err)
{
    const place device = place_of(r, w);
    const uint64_t on_device = device.address, on_host = (uintptr_t)memory;
    bool is_in = w->kind == MS_WORK_TO_DEVICE;
    return r->backend->calls->copy(r->backend, r->lanes[w->stream].stream,
                                   is_in ? MS_COPY_TO_DEVICE : MS_COPY_TO_HOST,
                                   is_in ? on_device : on_host, is_in ? on_host : on_device,
                                   least(w->bytes, device.bytes), err);
}

static ms_status copy_pieces(ms_replay_work *r, const ms_work *w, ms_error *err)
{
    const ms_replay_lane *lane = &r->lanes[w->stream];
    const place device = place_of(r, w);
    uint64_t most = least(lane->staging_bytes, device.bytes), at = 0;
    bool is_in = w->kind == MS_WORK_TO_DEVICE;
    ms_status status = MS_OK;
    for (uint64_t left = w->bytes; left > 0 && most > 0 && status == MS_OK;) {
        uint64_t bytes = least(least(left, most), device.bytes - at);
        uint64_t on_device = device.address + at, on_host = (uintptr_t)lane->staging;
        status = r->backend->calls->copy(
            r->backend, lane->stream, is_in ? MS_COPY_TO_DEVICE : MS_COPY_TO_HOST,
            is_in ? on_device : on_host, is_in ? on_host : on_device, bytes, err);
        left -= bytes;
        at = (at + bytes) % device.bytes;
    }
    return status;
}

/* Of data that others have: in one piece, where they say. */
static ms_status copy_given(ms_replay_work *r, uint32_t id, uint64_t from, ms_error *err)
{
    const ms_work *w = &r->trace->works.items[id];
    ms_backend_stream *stream = r->lanes[w->stream].stream;
    ms_status status = r->feed->begin(r->feed->context, id, stream, err);
    if (status == MS_OK)
        status = r->backend->calls->copy(r->backend, stream, MS_COPY_TO_DEVICE,
                                         place_of(r, w).address, from, w->bytes, err);
    return status == MS_OK ? r->feed->end(r->feed->context, id, stream, err) : status;
}

/* Collectives are copies within the device of what they move. */
static ms_status run_work(ms_replay_work *r, const ms_work *w, void *memory, ms_error *err)
{
    const ms_replay_lane *lane = &r->lanes[w->stream];
    switch ((ms_work_kind)w->kind) {
    case MS_WORK_TO_DEVICE:
    case MS_WORK_TO_HOST:
        return memory ? copy_once(r, w, memory, err) : copy_pieces(r, w, err);
    case MS_WORK_HOST_UPDATE:
        return r->backend->calls->host_traffic(r->backend, lane->stream, lane->staging,
                                               lane->staging_bytes, w->bytes, err);
    case MS_WORK_ALL_GATHER:
    case MS_WORK_REDUCE_SCATTER:
    case MS_WORK_ALL_REDUCE:
    case MS_WORK_SEND:
    case MS_WORK_RECEIVE:
    case MS_WORK_KINDS:
        break;
    }
    const place device = place_of(r, w);
    uint64_t half = device.bytes / 2;
    const ms_backend_traffic traffic = {device.address + half, half, device.address, half,
                                        2 * w->bytes};
    return r->backend->calls->traffic(r->backend, lane->stream, &traffic, err);
}

static void count_work(ms_replay_work *r, const ms_work *w, uint32_t repeats)
{
    if (w->kind == MS_WORK_HOST_UPDATE)
        return;
    r->result->copies += repeats;
    r->result->copied_bytes += w->bytes * repeats;
}

/* It begins when the operators' stream is where the work was given, and after the work it needs. */
static ms_status order(ms_replay_work *r, const ms_work *w, ms_error *err)
{
    const ms_backend_calls *calls = r->backend->calls;
    ms_backend_stream *own = r->lanes[w->stream].stream;
    ms_status status =
        calls->record(r->backend, r->issued, r->lanes[MS_STREAM_OPERATORS].stream, err);
    if (status == MS_OK)
        status = calls->wait(r->backend, r->issued, own, err);
    if (status == MS_OK && w->after != MS_NONE && r->ends[w->after])
        status = calls->wait(r->backend, r->ends[w->after], own, err);
    return status;
}

ms_status ms_replay_work_begin(ms_replay_work *r, uint32_t id, uint32_t phase, ms_error *err)
{
    const ms_work *w = &r->trace->works.items[id];
    const ms_backend_calls *calls = r->backend->calls;
    ms_status status = r->copies ? ms_host_copies_begin(r->copies, id, err) : MS_OK;
    if (!r->is_on || status != MS_OK)
        return status;
    ms_backend_stream *own = r->lanes[w->stream].stream;
    ms_replay_span span = {.repeats = r->result->phases.items[phase].repeats,
                           .is_host = w->kind == MS_WORK_HOST_UPDATE};
    void *memory = r->copies ? ms_host_copies_memory(r->copies, id) : NULL;
    const void *given = NULL;
    if (is_fed(r, w))
        status = r->feed->give(r->feed->context, id, place_of(r, w).address, &given, err);
    if (status == MS_OK)
        status = order(r, w, err);
    if (status == MS_OK)
        status = replay_clock_event(&r->clock, &span.begin, err);
    if (status == MS_OK)
        status = calls->record(r->backend, span.begin, own, err);
    if (status == MS_OK)
        status = given ? copy_given(r, id, (uintptr_t)given, err) : run_work(r, w, memory, err);
    if (status == MS_OK)
        status = replay_clock_event(&r->clock, &span.end, err);
    if (status == MS_OK)
        status = calls->record(r->backend, span.end, own, err);
    if (status == MS_OK && !ms_vec_push(&r->clock.spans, span))
        status = no_memory(err);
    r->ends[id] = status == MS_OK ? span.end : NULL;
    count_work(r, w, span.repeats);
    return status;
}

ms_status ms_replay_work_wait(ms_replay_work *r, uint32_t wait, uint32_t phase, ms_error *err)
{
    const ms_wait *w = &r->trace->waits.items[wait];
    if (r->copies)
        ms_host_copies_wait(r->copies, w->work);
    if (!r->is_on || !r->ends[w->work])
        return MS_OK;
    ms_backend_stream *stream = r->lanes[w->stream].stream;
    bool is_first = w->stream == MS_STREAM_OPERATORS;
    ms_status status =
        is_first ? ms_replay_clock_mark(&r->clock, stream, phase, MS_REPLAY_WAITING, err) : MS_OK;
    if (status == MS_OK)
        status = r->backend->calls->wait(r->backend, r->ends[w->work], stream, err);
    if (status == MS_OK && is_first)
        status = ms_replay_clock_mark(&r->clock, stream, phase, MS_REPLAY_BETWEEN, err);
    if (status == MS_OK && is_first && is_fed(r, &r->trace->works.items[w->work]))
        status = r->feed->took(r->feed->context, w->work,
                               place_of(r, &r->trace->works.items[w->work]).address, stream, err);
    return status;
}

ms_status ms_replay_work_layer(ms_replay_work *r, uint32_t layer, ms_error *err)
{
    return r->is_on && r->feed
               ? r->feed->layer(r->feed->context, layer, r->lanes[MS_STREAM_OPERATORS].stream, err)
               : MS_OK;
}
