/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Backends for tests: the host's, and one around another that fails its n-th call, or delays some
 * calls by a random time.
 */
#ifndef UNIT_BACKENDS_H
#define UNIT_BACKENDS_H

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "hardware/replay/backend_host.h"
#include "unit/support.h"

static inline ms_backend *open_host(const ms_backend_host_options *options)
{
    ms_backend *backend = NULL;
    ms_error err = {0};
    if (ms_replay_host_open(options, &backend, &err) != MS_OK)
        fail_msg("%s", err.text);
    return backend;
}

enum { MOST_SHAPES = 64 };

/* Calls that may fail, and what is open now: handles, and bytes of the device and the host. */
typedef struct troubled_backend {
    ms_backend base;
    ms_backend *inner;
    uint64_t calls, fails_at; /* this call fails; 0: none */
    ms_status failure;
    uint32_t most_delay_us; /* before one of 16 calls; 0: none */
    uint32_t seed;
    int64_t streams, events;
    uint64_t reserved_bytes, mapped_bytes, pinned_bytes;
    uint64_t products, synchronizations;
    uint64_t library_at, library_bytes; /* a library takes them for itself in this product */
    uint64_t copies_in, drops_at;       /* this copy to the device is left out; 0: none */
    ms_stop *stop; /* set in this product, or this wait for an event; or NULL */
    uint64_t stop_at;
    uint64_t finishes, stop_at_finish;
    ms_backend_product shapes[MOST_SHAPES]; /* that ran before all streams were waited for */
    uint32_t shape_count, cold_count;       /* that came later only */
} troubled_backend;

static inline troubled_backend *troubled(ms_backend *backend)
{
    return (troubled_backend *)(void *)backend;
}

static inline ms_backend *inner_of(ms_backend *backend)
{
    return troubled(backend)->inner;
}

static inline void delay(troubled_backend *t)
{
    enum { ONE_OF = 16 };
    if (!t->most_delay_us)
        return;
    t->seed = t->seed * 1664525 + 1013904223;
    if ((t->seed >> 28) % ONE_OF != 0)
        return;
    struct timespec time = {.tv_nsec = (long)((t->seed >> 8) % t->most_delay_us) * 1000};
    nanosleep(&time, NULL);
}

static inline bool strikes(ms_backend *backend, ms_error *err)
{
    troubled_backend *t = troubled(backend);
    delay(t);
    if (++t->calls != t->fails_at)
        return false;
    ms_error_set(err, t->failure, "call %u fails", (unsigned)t->calls);
    return true;
}

#define FORWARD(call, ...)                                                                         \
    if (strikes(b, err))                                                                           \
        return troubled(b)->failure;                                                               \
    return inner_of(b)->calls->call(inner_of(b), __VA_ARGS__, err)
#define FORWARD_COUNTED(count, amount, call, ...)                                                  \
    if (strikes(b, err))                                                                           \
        return troubled(b)->failure;                                                               \
    ms_status status = inner_of(b)->calls->call(inner_of(b), __VA_ARGS__, err);                    \
    troubled(b)->count += status == MS_OK ? (amount) : 0;                                          \
    return status

static ms_status troubled_used(ms_backend *b, uint64_t *bytes, ms_error *err)
{
    const troubled_backend *t = troubled(b);
    if (strikes(b, err))
        return t->failure;
    ms_status status = t->inner->calls->used(t->inner, bytes, err);
    *bytes += t->library_at && t->products >= t->library_at ? t->library_bytes : 0;
    return status;
}

static ms_status troubled_reserve(ms_backend *b, ms_memory_kind kind, uint64_t bytes,
                                  uint64_t *address, ms_error *err)
{
    FORWARD_COUNTED(reserved_bytes, bytes, reserve, kind, bytes, address);
}

static void troubled_release(ms_backend *b, ms_memory_kind kind, uint64_t address, uint64_t bytes)
{
    delay(troubled(b));
    troubled(b)->reserved_bytes -= bytes;
    inner_of(b)->calls->release(inner_of(b), kind, address, bytes);
}

static ms_status troubled_map(ms_backend *b, uint64_t address, uint64_t bytes, ms_error *err)
{
    FORWARD_COUNTED(mapped_bytes, bytes, map, address, bytes);
}

static void troubled_unmap(ms_backend *b, uint64_t address, uint64_t bytes)
{
    delay(troubled(b));
    troubled(b)->mapped_bytes -= bytes;
    inner_of(b)->calls->unmap(inner_of(b), address, bytes);
}

static ms_status troubled_pin(ms_backend *b, uint64_t bytes, bool is_pinned, void **memory,
                              ms_error *err)
{
    FORWARD_COUNTED(pinned_bytes, bytes, pin, bytes, is_pinned, memory);
}

static void troubled_unpin(ms_backend *b, void *memory, uint64_t bytes, bool is_pinned)
{
    delay(troubled(b));
    troubled(b)->pinned_bytes -= bytes;
    inner_of(b)->calls->unpin(inner_of(b), memory, bytes, is_pinned);
}

static ms_status troubled_open_stream(ms_backend *b, ms_backend_stream **stream, ms_error *err)
{
    FORWARD_COUNTED(streams, 1, open_stream, stream);
}

static void troubled_close_stream(ms_backend *b, ms_backend_stream *stream)
{
    delay(troubled(b));
    troubled(b)->streams--;
    inner_of(b)->calls->close_stream(inner_of(b), stream);
}

static ms_status troubled_open_event(ms_backend *b, ms_backend_event **event, ms_error *err)
{
    FORWARD_COUNTED(events, 1, open_event, event);
}

static void troubled_close_event(ms_backend *b, ms_backend_event *event)
{
    delay(troubled(b));
    troubled(b)->events--;
    inner_of(b)->calls->close_event(inner_of(b), event);
}

static ms_status troubled_record(ms_backend *b, ms_backend_event *event, ms_backend_stream *stream,
                                 ms_error *err)
{
    FORWARD(record, event, stream);
}

static ms_status troubled_wait(ms_backend *b, ms_backend_event *event, ms_backend_stream *stream,
                               ms_error *err)
{
    FORWARD(wait, event, stream);
}

static ms_status troubled_finish(ms_backend *b, ms_backend_event *event, ms_error *err)
{
    if (++troubled(b)->finishes == troubled(b)->stop_at_finish)
        atomic_store(troubled(b)->stop, 1);
    FORWARD(finish, event);
}

static ms_status troubled_elapsed(ms_backend *b, ms_backend_event *begin, ms_backend_event *end,
                                  double *ms, ms_error *err)
{
    FORWARD(elapsed, begin, end, ms);
}

static ms_status troubled_copy(ms_backend *b, ms_backend_stream *stream, ms_copy_kind kind,
                               uint64_t to, uint64_t from, uint64_t bytes, ms_error *err)
{
    if (kind == MS_COPY_TO_DEVICE && ++troubled(b)->copies_in == troubled(b)->drops_at)
        return MS_OK;
    FORWARD(copy, stream, kind, to, from, bytes);
}

static inline bool has_shape(const troubled_backend *t, const ms_backend_product *p)
{
    for (uint32_t i = 0; i < t->shape_count; i++)
        if (t->shapes[i].batches == p->batches && t->shapes[i].rows == p->rows &&
            t->shapes[i].inner == p->inner && t->shapes[i].columns == p->columns)
            return true;
    return false;
}

static inline void note_product(troubled_backend *t, const ms_backend_product *p)
{
    if (++t->products == t->stop_at)
        atomic_store(t->stop, 1);
    if (has_shape(t, p))
        return;
    if (t->synchronizations > 0)
        t->cold_count++;
    else if (t->shape_count < MOST_SHAPES)
        t->shapes[t->shape_count++] = *p;
}

static ms_status troubled_product(ms_backend *b, ms_backend_stream *stream,
                                  const ms_backend_product *product, ms_error *err)
{
    note_product(troubled(b), product);
    FORWARD(product, stream, product);
}

static ms_status troubled_traffic(ms_backend *b, ms_backend_stream *stream,
                                  const ms_backend_traffic *traffic, ms_error *err)
{
    FORWARD(traffic, stream, traffic);
}

static ms_status troubled_host_traffic(ms_backend *b, ms_backend_stream *stream, void *memory,
                                       uint64_t region_bytes, uint64_t bytes, ms_error *err)
{
    FORWARD(host_traffic, stream, memory, region_bytes, bytes);
}

static ms_status troubled_set_workspace(ms_backend *b, uint64_t address, uint64_t bytes,
                                        ms_error *err)
{
    FORWARD(set_workspace, address, bytes);
}

static ms_status troubled_synchronize(ms_backend *b, ms_backend_stream *stream, ms_error *err)
{
    troubled(b)->synchronizations++;
    FORWARD(synchronize, stream);
}

/* Closes the inner one too. */
static void troubled_close(ms_backend *b)
{
    inner_of(b)->calls->close(inner_of(b));
    free(b);
}

static const ms_backend_calls troubled_calls = {
    .name = "troubled",
    .close = troubled_close,
    .used = troubled_used,
    .reserve = troubled_reserve,
    .release = troubled_release,
    .map = troubled_map,
    .unmap = troubled_unmap,
    .pin = troubled_pin,
    .unpin = troubled_unpin,
    .open_stream = troubled_open_stream,
    .close_stream = troubled_close_stream,
    .open_event = troubled_open_event,
    .close_event = troubled_close_event,
    .record = troubled_record,
    .wait = troubled_wait,
    .finish = troubled_finish,
    .elapsed = troubled_elapsed,
    .copy = troubled_copy,
    .product = troubled_product,
    .traffic = troubled_traffic,
    .host_traffic = troubled_host_traffic,
    .set_workspace = troubled_set_workspace,
    .synchronize = troubled_synchronize,
};

static inline troubled_backend *open_troubled(ms_backend *inner)
{
    troubled_backend *t = calloc(1, sizeof *t);
    assert_non_null(t);
    t->base = (ms_backend){&troubled_calls, inner->facts};
    t->inner = inner;
    t->failure = MS_ERR_IO;
    return t;
}

/* Nothing is left of what was taken. */
static inline void assert_all_returned(const troubled_backend *t)
{
    assert_int_equal(t->streams, 0);
    assert_int_equal(t->events, 0);
    assert_int_equal(t->reserved_bytes, 0);
    assert_int_equal(t->mapped_bytes, 0);
    assert_int_equal(t->pinned_bytes, 0);
}

#endif
