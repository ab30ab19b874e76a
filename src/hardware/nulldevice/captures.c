/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Streams that are captured into CUDA graphs.
 */
#include "hardware/nulldevice/captures.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

#include "hardware/nulldevice/graphs.h"
#include "hardware/nulldevice/nulldevice.h"
#include "hardware/nulldevice/times.h"

enum { NOT_CAPTURED = 0, IS_CAPTURED = 1, IS_INVALID = 2 }; /* cudaStreamCaptureStatus */

typedef struct capture {
    uint64_t id;
    const void *origin; /* the stream that it began with */
    ms_null_graph *graph;
    bool is_own; /* the graph, and not one that the caller had */
    bool is_invalid;
} capture;

/* A captured stream, or an event that was recorded in one. */
typedef struct member {
    const void *handle;
    capture *of;
} member;

typedef struct members {
    member *rows;
    size_t count, capacity;
} members;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static members streams, events;
static atomic_size_t known; /* rows of both: 0 in programs without graphs, which need no lock */

/* Two names of the default stream. */
static const void *plain(const void *stream)
{
    return stream == (const void *)1 ? NULL : stream;
}

static capture *find(const members *m, const void *handle)
{
    for (size_t i = 0; i < m->count; i++)
        if (m->rows[i].handle == handle)
            return m->rows[i].of;
    return NULL;
}

static void take_out(members *m, const void *handle, const capture *of)
{
    for (size_t i = 0; i < m->count;) {
        if (m->rows[i].handle == handle || m->rows[i].of == of) {
            m->rows[i] = m->rows[--m->count];
            atomic_fetch_sub(&known, 1);
        } else {
            i++;
        }
    }
}

static bool put_in(members *m, const void *handle, capture *of)
{
    if (m->count == m->capacity) {
        size_t capacity = 2 * m->capacity + 16;
        member *rows = realloc(m->rows, capacity * sizeof *rows);
        if (!rows)
            return false;
        m->rows = rows;
        m->capacity = capacity;
    }
    m->rows[m->count++] = (member){handle, of};
    atomic_fetch_add(&known, 1);
    return true;
}

static int begin(const void *stream, ms_null_graph *into, bool is_own)
{
    static uint64_t last_id;
    capture *c = calloc(1, sizeof *c);
    if (!c)
        return MS_NULL_OUT_OF_MEMORY;
    c->origin = plain(stream);
    c->graph = into;
    c->is_own = is_own;
    pthread_mutex_lock(&lock);
    c->id = ++last_id;
    bool is_free = !find(&streams, c->origin) && put_in(&streams, c->origin, c);
    pthread_mutex_unlock(&lock);
    if (!is_free)
        free(c);
    return is_free ? MS_NULL_OK : MS_NULL_CAPTURE_UNSUPPORTED;
}

MS_NULL_CALL(int, cudaStreamBeginCapture, (void *stream, int mode))
{
    (void)mode;
    ms_null_graph *g = calloc(1, sizeof *g);
    int code = g ? begin(stream, g, true) : MS_NULL_OUT_OF_MEMORY;
    if (code != MS_NULL_OK)
        free(g);
    return code;
}

MS_NULL_CALL(int, cudaStreamBeginCaptureToGraph, (void *stream, ms_null_graph *into))
{
    return begin(stream, into, false);
}

MS_NULL_CALL(int, cudaStreamEndCapture, (void *stream, ms_null_graph **found))
{
    pthread_mutex_lock(&lock);
    capture *c = find(&streams, plain(stream));
    bool is_origin = c && c->origin == plain(stream);
    if (is_origin) {
        take_out(&streams, stream, c);
        take_out(&events, NULL, c);
    }
    pthread_mutex_unlock(&lock);
    if (!is_origin)
        return MS_NULL_CAPTURE_UNSUPPORTED;
    bool is_invalid = c->is_invalid;
    *found = is_invalid ? NULL : c->graph;
    if (is_invalid && c->is_own)
        free(c->graph); /* nobody else has it, so that it holds no objects */
    free(c);
    return is_invalid ? MS_NULL_CAPTURE_INVALIDATED : MS_NULL_OK;
}

/* ---- what is asked about a stream ---- */

static int status_of(const void *stream, uint64_t *id, ms_null_graph **g)
{
    int status = NOT_CAPTURED;
    *id = 0;
    *g = NULL;
    if (atomic_load(&known) == 0)
        return status;
    pthread_mutex_lock(&lock);
    const capture *c = find(&streams, plain(stream));
    if (c) {
        status = c->is_invalid ? IS_INVALID : IS_CAPTURED;
        *id = c->id;
        *g = c->graph;
    }
    pthread_mutex_unlock(&lock);
    return status;
}

MS_NULL_CALL(int, cudaStreamIsCapturing, (void *stream, int *status))
{
    uint64_t id;
    ms_null_graph *g;
    *status = status_of(stream, &id, &g);
    return MS_NULL_OK;
}

MS_NULL_CALL(int, cudaStreamGetCaptureInfo,
             (void *stream, int *status, unsigned long long *id, ms_null_graph **found,
              void **dependencies, void **edges, size_t *count))
{
    uint64_t number;
    ms_null_graph *g;
    int state = status_of(stream, &number, &g);
    if (status)
        *status = state;
    if (id)
        *id = number;
    if (found)
        *found = g;
    if (dependencies)
        *dependencies = NULL;
    if (edges)
        *edges = NULL;
    if (count)
        *count = 0;
    return MS_NULL_OK;
}

/* CUDA 12's, with edges and without. */
MS_NULL_CALL(int, cudaStreamGetCaptureInfo_v3,
             (void *stream, int *status, unsigned long long *id, ms_null_graph **found,
              void **dependencies, void **edges, size_t *count))
{
    return cudaStreamGetCaptureInfo(stream, status, id, found, dependencies, edges, count);
}

MS_NULL_CALL(int, cudaStreamGetCaptureInfo_v2,
             (void *stream, int *status, unsigned long long *id, ms_null_graph **found,
              void **dependencies, size_t *count))
{
    return cudaStreamGetCaptureInfo(stream, status, id, found, dependencies, NULL, count);
}

/* The driver's names of the same. */
MS_NULL_CALL(int, cuStreamIsCapturing, (void *stream, int *status))
{
    return cudaStreamIsCapturing(stream, status);
}

MS_NULL_CALL(int, cuStreamGetCaptureInfo_v2,
             (void *stream, int *status, unsigned long long *id, ms_null_graph **found,
              void **dependencies, size_t *count))
{
    return cudaStreamGetCaptureInfo(stream, status, id, found, dependencies, NULL, count);
}

MS_NULL_CALL(int, cuStreamGetCaptureInfo_v3,
             (void *stream, int *status, unsigned long long *id, ms_null_graph **found,
              void **dependencies, void **edges, size_t *count))
{
    return cudaStreamGetCaptureInfo(stream, status, id, found, dependencies, edges, count);
}

/* ---- work, waiting and events ---- */

void ms_null_work(const void *stream, double seconds)
{
    bool is_captured = false;
    if (atomic_load(&known) > 0) {
        pthread_mutex_lock(&lock);
        const capture *c = find(&streams, plain(stream));
        is_captured = c != NULL;
        if (c) {
            c->graph->nodes++;
            c->graph->seconds += seconds;
        }
        pthread_mutex_unlock(&lock);
    }
    if (!is_captured)
        ms_null_time_spend(stream, seconds);
}

static int spoil(capture *c)
{
    if (c)
        c->is_invalid = true;
    return c ? MS_NULL_CAPTURE_UNSUPPORTED : MS_NULL_OK;
}

int ms_null_wait_for_stream(const void *stream)
{
    if (atomic_load(&known) == 0)
        return MS_NULL_OK;
    pthread_mutex_lock(&lock);
    int code = spoil(find(&streams, plain(stream)));
    pthread_mutex_unlock(&lock);
    return code;
}

int ms_null_wait_for_device(void)
{
    int code = MS_NULL_OK;
    if (atomic_load(&known) == 0)
        return code;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < streams.count; i++)
        code = spoil(streams.rows[i].of);
    pthread_mutex_unlock(&lock);
    return code;
}

void ms_null_event_forget(const void *event)
{
    if (atomic_load(&known) == 0)
        return;
    pthread_mutex_lock(&lock);
    if (find(&events, event))
        take_out(&events, event, NULL);
    pthread_mutex_unlock(&lock);
}

void ms_null_event_record(const void *event, const void *stream)
{
    if (atomic_load(&known) == 0)
        return;
    ms_null_event_forget(event);
    pthread_mutex_lock(&lock);
    capture *c = find(&streams, plain(stream));
    if (c && !put_in(&events, event, c))
        c->is_invalid = true;
    pthread_mutex_unlock(&lock);
}

int ms_null_event_join(const void *stream, const void *event)
{
    int code = MS_NULL_OK;
    if (atomic_load(&known) == 0)
        return code;
    pthread_mutex_lock(&lock);
    capture *c = find(&events, event);
    const capture *now = find(&streams, plain(stream));
    if (c && !now && !put_in(&streams, plain(stream), c))
        code = MS_NULL_OUT_OF_MEMORY;
    else if (c && now && now != c)
        code = spoil(c); /* two captures would become one */
    pthread_mutex_unlock(&lock);
    return code;
}

int ms_null_event_wait(const void *event)
{
    if (atomic_load(&known) == 0)
        return MS_NULL_OK;
    pthread_mutex_lock(&lock);
    int code = spoil(find(&events, event)) == MS_NULL_OK ? MS_NULL_OK : MS_NULL_CAPTURED_EVENT;
    pthread_mutex_unlock(&lock);
    return code;
}
