/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A device that runs a step: memory, streams, events, copies, products and memory traffic behind
 * one table of calls. Each backend is a file: the host's memory and threads (backend_host.c), CUDA
 * (backend_cuda.c). What is enqueued on a stream runs in order, and concurrently with other
 * streams; what fails while it runs is reported by `synchronize`.
 *
 * Calls return MS_OK, or a status with one sentence in `err`: MS_ERR_OVER_BUDGET when the device
 * is full, MS_ERR_NOMEM when the host is, MS_ERR_IO when the device fails. Calls are made by one
 * thread. Sizes are in bytes, times in milliseconds.
 */
#ifndef MS_HARDWARE_REPLAY_BACKEND_H
#define MS_HARDWARE_REPLAY_BACKEND_H

#include <stdbool.h>
#include <stdint.h>

#include "core/allocator/memory.h"
#include "base/error.h"
#include "core/tensor/dtype.h"

/* Handles; what they point to is the backend's. */
typedef struct ms_backend_stream ms_backend_stream;
typedef struct ms_backend_event ms_backend_event;
typedef struct ms_backend ms_backend;

enum { MS_BACKEND_TEXT = 128 };

/* Fixed once a backend is open. */
typedef struct ms_backend_facts {
    char title[MS_BACKEND_TEXT];    /* of the device, as its driver names it */
    char versions[MS_BACKEND_TEXT]; /* "CUDA driver 13.0, runtime 13.0" */
    uint64_t total_bytes;           /* memory that a program can use */
    uint64_t first_used_bytes; /* in use when the backend was opened, other programs included */
    uint32_t compute_capability, multiprocessors; /* 0: none */
    bool is_host;      /* the device is memory and threads of this machine */
    bool is_simulated; /* nothing runs, as on the null device: times are not measured */
} ms_backend_facts;

typedef enum ms_copy_kind {
    MS_COPY_TO_DEVICE,
    MS_COPY_TO_HOST,
    MS_COPY_ON_DEVICE,
    MS_COPY_KINDS
} ms_copy_kind;

/* c[rows, columns] = a[rows, inner] * b[inner, columns], `batches` times; all dense, one after the
 * other, at addresses of the device. */
typedef struct ms_backend_product {
    uint64_t batches, rows, inner, columns;
    uint64_t a, b, c;
    ms_dtype dtype;  /* fp32, bf16, fp16 or fp64 */
    bool transposed; /* a is stored by columns */
} ms_backend_product;

/* Reads half of `bytes` in one region and writes as many in the other, again and again where they
 * are smaller. The regions do not overlap. */
typedef struct ms_backend_traffic {
    uint64_t from, from_bytes, to, to_bytes, bytes;
} ms_backend_traffic;

typedef struct ms_backend_calls {
    const char *name;                   /* "host", as --backend spells it */
    void (*close)(ms_backend *backend); /* after all of its streams, events and memory */
    /* In use on the device now, by all programs. */
    ms_status (*used)(ms_backend *backend, uint64_t *bytes, ms_error *err);

    /* Memory of the device, as ms_memory; `release` and `unmap` first wait for all streams. */
    ms_status (*reserve)(ms_backend *backend, ms_memory_kind kind, uint64_t bytes,
                         uint64_t *address, ms_error *err);
    void (*release)(ms_backend *backend, ms_memory_kind kind, uint64_t address, uint64_t bytes);
    ms_status (*map)(ms_backend *backend, uint64_t address, uint64_t bytes, ms_error *err);
    void (*unmap)(ms_backend *backend, uint64_t address, uint64_t bytes);

    /* Memory of the host, pinned or not. */
    ms_status (*pin)(ms_backend *backend, uint64_t bytes, bool is_pinned, void **memory,
                     ms_error *err);
    void (*unpin)(ms_backend *backend, void *memory, uint64_t bytes, bool is_pinned);

    ms_status (*open_stream)(ms_backend *backend, ms_backend_stream **stream, ms_error *err);
    void (*close_stream)(ms_backend *backend, ms_backend_stream *stream); /* waits for it */
    ms_status (*open_event)(ms_backend *backend, ms_backend_event **event, ms_error *err);
    /* No stream may still have to record it or wait for it. */
    void (*close_event)(ms_backend *backend, ms_backend_event *event);

    /* Happens when the stream gets there; may be recorded again. */
    ms_status (*record)(ms_backend *backend, ms_backend_event *event, ms_backend_stream *stream,
                        ms_error *err);
    /* Later work of the stream waits for the latest record; never recorded: nothing. */
    ms_status (*wait)(ms_backend *backend, ms_backend_event *event, ms_backend_stream *stream,
                      ms_error *err);
    /* Returns once its latest record has happened. */
    ms_status (*finish)(ms_backend *backend, ms_backend_event *event, ms_error *err);
    /* Between two events that have happened. */
    ms_status (*elapsed)(ms_backend *backend, ms_backend_event *begin, ms_backend_event *end,
                         double *ms, ms_error *err);

    /* Addresses of the host are those of its memory. */
    ms_status (*copy)(ms_backend *backend, ms_backend_stream *stream, ms_copy_kind kind,
                      uint64_t to, uint64_t from, uint64_t bytes, ms_error *err);
    ms_status (*product)(ms_backend *backend, ms_backend_stream *stream,
                         const ms_backend_product *product, ms_error *err);
    /* Memory traffic of the device. */
    ms_status (*traffic)(ms_backend *backend, ms_backend_stream *stream,
                         const ms_backend_traffic *traffic, ms_error *err);
    /* Reads and writes `bytes` in all in memory of the host, by its processor. */
    ms_status (*host_traffic)(ms_backend *backend, ms_backend_stream *stream, void *memory,
                              uint64_t region_bytes, uint64_t bytes, ms_error *err);
    /* Memory that products may use for themselves; 0 bytes: the library's own. */
    ms_status (*set_workspace)(ms_backend *backend, uint64_t address, uint64_t bytes,
                               ms_error *err);
    /* Waits for a stream; NULL: for all. */
    ms_status (*synchronize)(ms_backend *backend, ms_backend_stream *stream, ms_error *err);
} ms_backend_calls;

/* What each backend begins with. */
struct ms_backend {
    const ms_backend_calls *calls;
    ms_backend_facts facts;
};

#endif
