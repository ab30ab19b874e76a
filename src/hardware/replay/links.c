/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "hardware/replay/links.h"

#include <inttypes.h>
#include <string.h>

/* A run is long enough for a thread to start, or a kernel to be launched, not to matter. Long ones
 * vary little: they are not repeated beyond ENOUGH_MS. */
enum { RUNS = 5, LEAST_RUNS = 2, LEAST_MS = 2, ENOUGH_MS = 100, MOST_REPEATS = 1024 };

enum { MEMORY_SIZES = 8 }; /* memory is measured in regions of 1, 2 and 4 times a copy */
#define COPY_BYTES (UINT64_C(64) << 20)
#define LEAST_BYTES (UINT64_C(16) << 20) /* that are left on the device */

typedef struct measurement {
    ms_backend *backend;
    const ms_links_options *options;
    ms_links *links;
    ms_backend_stream *streams[2];
    ms_backend_event *events[4]; /* begin and end of each stream's work */
    uint64_t device, device_bytes;
    void *host;
    uint64_t host_bytes;
    bool is_pinned;
    ms_error *err;
} measurement;

/* Work of which the time is taken, on one stream or on both. */
typedef struct task {
    ms_copy_kind copies[2]; /* of each stream */
    uint32_t streams;
    bool is_product, is_traffic;
    ms_backend_product product;
    uint64_t bytes;
} task;

static ms_status give(measurement *m, const task *t, uint32_t stream)
{
    const ms_backend_calls *calls = m->backend->calls;
    ms_backend_stream *s = m->streams[stream];
    uint64_t device = m->device + stream * t->bytes;
    uint64_t host = (uintptr_t)m->host + stream * t->bytes;
    if (t->is_product)
        return calls->product(m->backend, s, &t->product, m->err);
    if (t->is_traffic) {
        const ms_backend_traffic traffic = {m->device, t->bytes, m->device + t->bytes, t->bytes,
                                            2 * t->bytes};
        return calls->traffic(m->backend, s, &traffic, m->err);
    }
    bool is_in = t->copies[stream] == MS_COPY_TO_DEVICE;
    return calls->copy(m->backend, s, t->copies[stream], is_in ? device : host,
                       is_in ? host : device, t->bytes, m->err);
}

/* From the first stream's begin to the later end. */
static ms_status read_time(measurement *m, const task *t, double *ms)
{
    const ms_backend_calls *calls = m->backend->calls;
    ms_status status = calls->synchronize(m->backend, NULL, m->err);
    *ms = 0;
    for (uint32_t i = 0; i < t->streams && status == MS_OK; i++) {
        double found = 0;
        status = calls->elapsed(m->backend, m->events[0], m->events[2 * i + 1], &found, m->err);
        *ms = found > *ms ? found : *ms;
    }
    return status;
}

static ms_status run_once(measurement *m, const task *t, uint32_t repeats, double *ms)
{
    const ms_backend_calls *calls = m->backend->calls;
    ms_status status = MS_OK;
    for (uint32_t i = 0; i < t->streams && status == MS_OK; i++)
        status = calls->record(m->backend, m->events[2 * i], m->streams[i], m->err);
    for (uint32_t n = 0; n < repeats * t->streams && status == MS_OK; n++)
        status = give(m, t, n % t->streams);
    for (uint32_t i = 0; i < t->streams && status == MS_OK; i++)
        status = calls->record(m->backend, m->events[2 * i + 1], m->streams[i], m->err);
    return status == MS_OK ? read_time(m, t, ms) : status;
}

/* The shortest time of one, in ms. */
static ms_status time_of(measurement *m, const task *t, double *best)
{
    uint32_t repeats = 1;
    double ms = 0, total_ms = 0;
    ms_status status = run_once(m, t, repeats, &ms); /* libraries load their code */
    *best = 0;
    for (uint32_t run = 0; run < RUNS && status == MS_OK; run++) {
        if (run >= LEAST_RUNS && total_ms > ENOUGH_MS)
            break;
        if (ms_stop_asked(m->options->stop))
            return ms_fail(m->err, MS_ERR_STOPPED, "the measurement was stopped");
        status = run_once(m, t, repeats, &ms);
        for (; status == MS_OK && ms < LEAST_MS && repeats < MOST_REPEATS; repeats *= 2)
            status = run_once(m, t, 2 * repeats, &ms);
        total_ms += ms;
        if (*best <= 0 || ms / repeats < *best)
            *best = ms / repeats;
    }
    return status;
}

/* ---- copies ---- */

static const struct copy_kind {
    const char *kind;
    task task;
} copy_kinds[] = {
    {"to_device", {.copies = {MS_COPY_TO_DEVICE}, .streams = 1}},
    {"to_host", {.copies = {MS_COPY_TO_HOST}, .streams = 1}},
    {"both_ways", {.copies = {MS_COPY_TO_DEVICE, MS_COPY_TO_HOST}, .streams = 2}},
    {"memory", {.streams = 1, .is_traffic = true}}, /* the last */
};

static ms_status measure_copy(measurement *m, const struct copy_kind *kind, uint64_t bytes)
{
    task t = kind->task;
    double ms = 0;
    t.bytes = bytes;
    ms_status status = time_of(m, &t, &ms);
    double moved = (double)bytes * (t.is_traffic ? 2 : t.streams);
    const ms_link_sample sample = {kind->kind, m->is_pinned && !t.is_traffic, bytes,
                                   ms > 0 ? moved / ms * 1e3 : 0};
    if (status == MS_OK && !ms_vec_push(&m->links->copies, sample))
        status = ms_fail(m->err, MS_ERR_NOMEM, "no memory for measured links");
    return status;
}

static ms_status measure_memory(measurement *m, uint64_t bytes)
{
    enum { MEMORY = sizeof copy_kinds / sizeof copy_kinds[0] - 1 };
    ms_status status = MS_OK;
    for (uint64_t size = bytes; size <= m->device_bytes / 2 && status == MS_OK; size *= 2)
        status = measure_copy(m, &copy_kinds[MEMORY], size);
    return status;
}

static ms_status measure_copies(measurement *m, bool is_pinned, uint64_t bytes)
{
    enum { FILL = 0x3c }; /* normal numbers of every type, as slow ones would tell in products */
    enum { KINDS = sizeof copy_kinds / sizeof copy_kinds[0] };
    m->is_pinned = is_pinned;
    m->host_bytes = 2 * bytes;
    ms_status status =
        m->backend->calls->pin(m->backend, m->host_bytes, is_pinned, &m->host, m->err);
    if (status != MS_OK)
        return status;
    if (!m->backend->facts.is_simulated)
        memset(m->host, FILL, (size_t)m->host_bytes); /* what is untouched has no memory yet */
    for (size_t i = 0; i < KINDS && status == MS_OK; i++)
        if (!copy_kinds[i].task.is_traffic)
            status = measure_copy(m, &copy_kinds[i], bytes);
    (void)m->backend->calls->synchronize(m->backend, NULL, NULL);
    m->backend->calls->unpin(m->backend, m->host, m->host_bytes, is_pinned);
    return status;
}

/* ---- products ---- */

/* Shapes of a decoder's layers: square ones, and one wide and one deep of each size. */
static ms_status measure_product(measurement *m, uint64_t rows, uint64_t inner, uint64_t columns,
                                 ms_dtype dtype)
{
    uint64_t unit = ms_dtype_bytes(dtype), a = rows * inner * unit, b = inner * columns * unit;
    task t = {.streams = 1, .is_product = true};
    double ms = 0;
    if (a + b + rows * columns * unit > m->device_bytes)
        return MS_OK;
    t.product = (ms_backend_product){
        1, rows, inner, columns, m->device, m->device + a, m->device + a + b, dtype, false};
    ms_status status = time_of(m, &t, &ms);
    double flops = 2 * (double)rows * (double)inner * (double)columns;
    const ms_product_sample sample = {rows,  inner, columns,
                                      dtype, ms,    ms > 0 ? flops / ms * 1e3 : 0};
    if (status == MS_OK && !ms_vec_push(&m->links->products, sample))
        status = ms_fail(m->err, MS_ERR_NOMEM, "no memory for measured products");
    return status;
}

static ms_status measure_products(measurement *m, uint64_t most)
{
    static const ms_dtype dtypes[] = {MS_DTYPE_BF16, MS_DTYPE_F16, MS_DTYPE_F32};
    ms_status status = MS_OK;
    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++)
        for (uint64_t side = most / 4; side <= most && status == MS_OK; side *= 2) {
            status = measure_product(m, side, side, side, dtypes[i]);
            if (status == MS_OK)
                status = measure_product(m, side / 2, side / 2, 2 * side, dtypes[i]);
            if (status == MS_OK)
                status = measure_product(m, side / 2, 2 * side, side / 2, dtypes[i]);
        }
    return status;
}

/* ---- all of it ---- */

static ms_status open_all(measurement *m)
{
    const ms_backend_calls *calls = m->backend->calls;
    ms_status status = MS_OK;
    for (int i = 0; i < 2 && status == MS_OK; i++)
        status = calls->open_stream(m->backend, &m->streams[i], m->err);
    for (int i = 0; i < 4 && status == MS_OK; i++)
        status = calls->open_event(m->backend, &m->events[i], m->err);
    return status;
}

static void close_all(measurement *m)
{
    const ms_backend_calls *calls = m->backend->calls;
    (void)calls->synchronize(m->backend, NULL, NULL);
    for (int i = 0; i < 4; i++)
        if (m->events[i])
            calls->close_event(m->backend, m->events[i]);
    for (int i = 0; i < 2; i++)
        if (m->streams[i])
            calls->close_stream(m->backend, m->streams[i]);
    if (m->device_bytes)
        calls->release(m->backend, MS_MEMORY_BACKED, m->device, m->device_bytes);
}

static ms_status reserve(measurement *m, uint64_t bytes)
{
    ms_status status =
        m->backend->calls->reserve(m->backend, MS_MEMORY_BACKED, bytes, &m->device, m->err);
    m->device_bytes = status == MS_OK ? bytes : 0;
    return status;
}

static ms_status measure(measurement *m)
{
    const ms_backend_facts *f = &m->backend->facts;
    const ms_links_options *o = m->options;
    uint64_t rest = f->total_bytes - f->first_used_bytes, side = o->most_side;
    uint64_t bytes = o->copy_bytes ? o->copy_bytes : COPY_BYTES;
    if (rest < LEAST_BYTES)
        return ms_fail(m->err, MS_ERR_OVER_BUDGET,
                       "the device has only %" PRIu64 " bytes left: too few to measure", rest);
    if (!side)
        side = f->is_host ? 1024 : 8192;
    uint64_t wanted = 3 * side * side * ms_dtype_bytes(MS_DTYPE_F32);
    while (bytes > rest / 8)
        bytes /= 2;
    if (wanted < MEMORY_SIZES * bytes)
        wanted = MEMORY_SIZES * bytes;
    ms_status status = open_all(m);
    if (status == MS_OK)
        status = reserve(m, wanted < rest / 2 ? wanted : rest / 2);
    if (status == MS_OK && !f->is_host) /* there nothing is pinned */
        status = measure_copies(m, true, bytes);
    if (status == MS_OK)
        status = measure_copies(m, false, bytes);
    if (status == MS_OK)
        status = measure_memory(m, bytes);
    if (status == MS_OK)
        status = measure_products(m, side);
    if (status == MS_OK)
        status = m->backend->calls->used(m->backend, &m->links->loaded_used_bytes, m->err);
    if (status == MS_OK)
        m->links->loaded_used_bytes -= m->device_bytes;
    return status;
}

ms_status ms_replay_links_measure(ms_backend *backend, const ms_links_options *options,
                                  ms_links *links, ms_error *err)
{
    measurement m = {.backend = backend, .options = options, .links = links, .err = err};
    *links = (ms_links){.opened_used_bytes = backend->facts.first_used_bytes};
    ms_status status = measure(&m);
    close_all(&m);
    return status;
}

void ms_replay_links_free(ms_links *links)
{
    ms_vec_free(&links->copies);
    ms_vec_free(&links->products);
}
