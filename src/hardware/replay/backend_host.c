/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "hardware/replay/backend_host.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/threads.h"
#include "hardware/replay/host_memory.h"
#include "hardware/replay/host_stream.h"

typedef struct host {
    ms_backend base;
    ms_backend_host_options options;
    ms_host_memory memory;
    ms_host_streams *streams;
    ms_blas *blas;
} host;

static host *of(ms_backend *backend)
{
    return (host *)(void *)backend;
}

/* ---- memory ---- */

static ms_status used(ms_backend *backend, uint64_t *bytes, ms_error *err)
{
    (void)err;
    *bytes = of(backend)->memory.used_bytes;
    return MS_OK;
}

static ms_status reserve(ms_backend *backend, ms_memory_kind kind, uint64_t bytes,
                         uint64_t *address, ms_error *err)
{
    return ms_replay_memory_reserve(&of(backend)->memory, kind, bytes, address, err);
}

static void release(ms_backend *backend, ms_memory_kind kind, uint64_t address, uint64_t bytes)
{
    ms_replay_streams_finish(of(backend)->streams, NULL);
    ms_replay_memory_release(&of(backend)->memory, kind, address, bytes);
}

static ms_status map(ms_backend *backend, uint64_t address, uint64_t bytes, ms_error *err)
{
    return ms_replay_memory_map(&of(backend)->memory, address, bytes, err);
}

static void unmap(ms_backend *backend, uint64_t address, uint64_t bytes)
{
    ms_replay_streams_finish(of(backend)->streams, NULL);
    ms_replay_memory_unmap(&of(backend)->memory, address, bytes);
}

static ms_status pin(ms_backend *backend, uint64_t bytes, bool is_pinned, void **memory,
                     ms_error *err)
{
    (void)is_pinned; /* all memory of the host is alike to its own threads */
    return ms_replay_memory_pin(&of(backend)->memory, bytes, memory, err);
}

static void unpin(ms_backend *backend, void *memory, uint64_t bytes, bool is_pinned)
{
    (void)is_pinned;
    ms_replay_memory_unpin(&of(backend)->memory, memory, bytes);
}

/* ---- streams and events ---- */

static ms_status open_stream(ms_backend *backend, ms_backend_stream **stream, ms_error *err)
{
    return ms_replay_stream_open(of(backend)->streams, stream, err);
}

static void close_stream(ms_backend *backend, ms_backend_stream *stream)
{
    ms_replay_stream_close(of(backend)->streams, stream);
}

static ms_status open_event(ms_backend *backend, ms_backend_event **event, ms_error *err)
{
    (void)backend;
    *event = ms_replay_event_open();
    return *event ? MS_OK : ms_fail(err, MS_ERR_NOMEM, "no memory for an event");
}

static void close_event(ms_backend *backend, ms_backend_event *event)
{
    (void)backend;
    ms_replay_event_close(event);
}

static ms_status record(ms_backend *backend, ms_backend_event *event, ms_backend_stream *stream,
                        ms_error *err)
{
    (void)backend, (void)err;
    ms_replay_stream_record(stream, event);
    return MS_OK;
}

static ms_status wait_for(ms_backend *backend, ms_backend_event *event, ms_backend_stream *stream,
                          ms_error *err)
{
    (void)backend, (void)err;
    ms_replay_stream_wait(stream, event);
    return MS_OK;
}

static ms_status finish(ms_backend *backend, ms_backend_event *event, ms_error *err)
{
    (void)err;
    ms_replay_event_finish(of(backend)->streams, event);
    return MS_OK;
}

static ms_status elapsed(ms_backend *backend, ms_backend_event *begin, ms_backend_event *end,
                         double *ms, ms_error *err)
{
    bool have = ms_replay_event_elapsed(of(backend)->streams, begin, end, ms);
    return have ? MS_OK : ms_fail(err, MS_ERR_INTERNAL, "an event has not occurred");
}

static ms_status synchronize(ms_backend *backend, ms_backend_stream *stream, ms_error *err)
{
    (void)err;
    ms_replay_streams_finish(of(backend)->streams, stream);
    return MS_OK;
}

/* ---- work ---- */

static double time_ms(double amount, double rate)
{
    return rate > 0 ? amount / rate * 1e3 : 0;
}

static void add(host *h, ms_backend_stream *stream, ms_host_work *work,
                void (*run)(const ms_host_work *work, void *tiles))
{
    work->run = h->options.skips_data ? NULL : run;
    ms_replay_stream_add(stream, work);
}

static void run_copy(const ms_host_work *work, void *tiles)
{
    (void)tiles;
    const ms_backend_traffic *t = &work->traffic;
    memmove(ms_replay_pointer(t->to), ms_replay_pointer(t->from), (size_t)t->bytes);
}

static ms_status copy(ms_backend *backend, ms_backend_stream *stream, ms_copy_kind kind,
                      uint64_t to, uint64_t from, uint64_t bytes, ms_error *err)
{
    host *h = of(backend);
    const double rates[] = {[MS_COPY_TO_DEVICE] = h->options.to_device_bytes,
                            [MS_COPY_TO_HOST] = h->options.to_host_bytes,
                            [MS_COPY_ON_DEVICE] = h->options.traffic_bytes / 2};
    (void)err;
    ms_host_work work = {.traffic = {.from = from, .to = to, .bytes = bytes},
                         .least_ms = time_ms((double)bytes, rates[kind])};
    add(h, stream, &work, run_copy);
    return MS_OK;
}

static void run_product(const ms_host_work *work, void *tiles)
{
    const ms_backend_product *p = &work->product;
    const ms_blas_shape shape = {p->rows, p->inner, p->columns, p->dtype};
    uint64_t bytes = ms_dtype_bytes(p->dtype);
    for (uint64_t i = 0; i < p->batches && !ms_stop_asked(work->stop); i++)
        ms_replay_blas_multiply(
            work->blas, &shape,
            (ms_blas_matrix){ms_replay_pointer(p->a + i * p->rows * p->inner * bytes),
                             p->transposed},
            (ms_blas_matrix){ms_replay_pointer(p->b + i * p->inner * p->columns * bytes), false},
            ms_replay_pointer(p->c + i * p->rows * p->columns * bytes), tiles);
}

static ms_status product(ms_backend *backend, ms_backend_stream *stream,
                         const ms_backend_product *p, ms_error *err)
{
    host *h = of(backend);
    double flops = 2 * (double)p->batches * (double)p->rows * (double)p->inner * (double)p->columns;
    (void)err;
    ms_host_work work = {
        .product = *p, .blas = h->blas, .least_ms = time_ms(flops, h->options.product_flops)};
    add(h, stream, &work, run_product);
    return MS_OK;
}

#define PIECE_BYTES (UINT64_C(256) << 20) /* between two looks at what asks to stop */

static void run_traffic(const ms_host_work *work, void *tiles)
{
    const ms_backend_traffic *t = &work->traffic;
    uint64_t most = t->from_bytes < t->to_bytes ? t->from_bytes : t->to_bytes;
    uint64_t left = t->bytes / 2, at = 0;
    (void)tiles;
    while (most > 0 && left > 0 && !ms_stop_asked(work->stop)) {
        uint64_t bytes = left < most - at ? left : most - at;
        bytes = bytes < PIECE_BYTES ? bytes : PIECE_BYTES;
        memcpy(ms_replay_pointer(t->to + at), ms_replay_pointer(t->from + at), (size_t)bytes);
        left -= bytes;
        at = (at + bytes) % most;
    }
}

static ms_status add_traffic(host *h, ms_backend_stream *stream, const ms_backend_traffic *t,
                             double rate)
{
    ms_host_work work = {.traffic = *t, .least_ms = time_ms((double)t->bytes, rate)};
    add(h, stream, &work, run_traffic);
    return MS_OK;
}

static ms_status traffic(ms_backend *backend, ms_backend_stream *stream,
                         const ms_backend_traffic *t, ms_error *err)
{
    (void)err;
    return add_traffic(of(backend), stream, t, of(backend)->options.traffic_bytes);
}

static ms_status host_traffic(ms_backend *backend, ms_backend_stream *stream, void *memory,
                              uint64_t region_bytes, uint64_t bytes, ms_error *err)
{
    uint64_t begin = (uintptr_t)memory, half = region_bytes / 2;
    const ms_backend_traffic t = {begin + half, half, begin, half, bytes};
    (void)err;
    return add_traffic(of(backend), stream, &t, of(backend)->options.host_bytes);
}

static ms_status set_workspace(ms_backend *backend, uint64_t address, uint64_t bytes, ms_error *err)
{
    (void)backend, (void)address, (void)bytes, (void)err; /* a BLAS of the host takes none */
    return MS_OK;
}

/* ---- opening and closing ---- */

static void close_host(ms_backend *backend)
{
    host *h = of(backend);
    if (h->streams)
        ms_replay_streams_free(h->streams);
    if (h->blas)
        ms_replay_blas_close(h->blas);
    ms_replay_memory_free(&h->memory);
    free(h);
}

static const ms_backend_calls calls = {
    .name = "host",
    .close = close_host,
    .used = used,
    .reserve = reserve,
    .release = release,
    .map = map,
    .unmap = unmap,
    .pin = pin,
    .unpin = unpin,
    .open_stream = open_stream,
    .close_stream = close_stream,
    .open_event = open_event,
    .close_event = close_event,
    .record = record,
    .wait = wait_for,
    .finish = finish,
    .elapsed = elapsed,
    .copy = copy,
    .product = product,
    .traffic = traffic,
    .host_traffic = host_traffic,
    .set_workspace = set_workspace,
    .synchronize = synchronize,
};

static ms_status set_capacity(host *h, ms_error *err)
{
    uint64_t wanted = h->options.capacity_bytes, have = ms_replay_memory_free_bytes();
    h->memory.capacity_bytes = wanted ? wanted : have / 4 * 3;
    if (!wanted && !have)
        return ms_fail(err, MS_ERR_USAGE,
                       "the memory of this machine is unknown: a capacity is "
                       "needed");
    if (h->options.skips_data)
        return MS_OK;
    h->memory.limit_bytes = have ? have : wanted;
    if (wanted > h->memory.limit_bytes)
        return ms_fail(err, MS_ERR_USAGE,
                       "a capacity of %" PRIu64 " bytes exceeds the %" PRIu64 " bytes of memory "
                       "that this machine has free",
                       wanted, have);
    return MS_OK;
}

static void set_facts(host *h)
{
    ms_backend_facts *f = &h->base.facts;
    f->total_bytes = h->memory.capacity_bytes;
    f->is_host = true;
    f->is_simulated = h->options.skips_data;
    snprintf(f->title, sizeof f->title, "this machine");
    if (h->options.skips_data)
        snprintf(f->versions, sizeof f->versions, "no data is moved");
    else
        snprintf(f->versions, sizeof f->versions, "%u processors, products by %s",
                 (unsigned)ms_threads_processors(), ms_replay_blas_name(h->blas));
}

ms_status ms_replay_host_open(const ms_backend_host_options *options, ms_backend **backend,
                              ms_error *err)
{
    host *h = calloc(1, sizeof *h);
    *backend = NULL;
    if (!h)
        return ms_fail(err, MS_ERR_NOMEM, "no memory for the host backend");
    h->base.calls = &calls;
    h->options = *options;
    h->streams = ms_replay_streams_create(options->skips_data, options->stop);
    h->blas = ms_replay_blas_open(!options->has_no_blas && !options->skips_data, options->stop);
    ms_status status = MS_OK;
    if (h->streams && h->blas)
        status = set_capacity(h, err);
    else
        status = ms_fail(err, MS_ERR_NOMEM, "no memory for the host backend");
    if (status != MS_OK) {
        close_host(&h->base);
        return status;
    }
    set_facts(h);
    *backend = &h->base;
    return MS_OK;
}
