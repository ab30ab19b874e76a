/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "hardware/replay/host_copies.h"

#include <stdlib.h>

enum { PAGE_BYTES = 4096, WASTED_PART = 4 };

/* The storage that comes back with a copy to the device, or MS_NONE. */
static uint32_t coming(const ms_trace *trace, const ms_work *w)
{
    return w->kind == MS_WORK_TO_DEVICE && w->target != MS_NONE
               ? trace->storages.items[w->target].same_as
               : MS_NONE;
}

static ms_status no_memory(ms_error *err)
{
    return ms_fail(err, MS_ERR_NOMEM, "no memory for a replay");
}

ms_status ms_host_copies_open(ms_host_copies *c, const ms_trace *trace, ms_backend *backend,
                              ms_error *err)
{
    *c = (ms_host_copies){.trace = trace, .backend = backend};
    c->comings = calloc((size_t)trace->storages.count + 1, sizeof *c->comings);
    if (!c->comings)
        return no_memory(err);
    for (uint32_t i = 0; i < trace->works.count; i++) {
        uint32_t storage = coming(trace, &trace->works.items[i]);
        if (storage != MS_NONE)
            c->comings[storage]++;
    }
    return MS_OK;
}

static void drop(ms_host_copies *c, uint32_t index)
{
    const ms_host_buffer b = c->buffers.items[index];
    if (b.memory)
        c->backend->calls->unpin(c->backend, b.memory, b.bytes, true);
    c->bytes -= b.bytes;
    c->buffers.items[index] = c->buffers.items[--c->buffers.count];
}

void ms_host_copies_close(ms_host_copies *c)
{
    while (c->buffers.count)
        drop(c, c->buffers.count - 1);
    ms_vec_free(&c->buffers);
    free(c->comings);
    c->comings = NULL;
}

bool ms_host_copies_has(const ms_host_copies *c, const ms_work *w)
{
    if (w->kind == MS_WORK_TO_HOST)
        return w->source != MS_NONE && c->comings[w->source] > 0;
    return coming(c->trace, w) != MS_NONE;
}

static ms_host_buffer *find_free(ms_host_copies *c, uint64_t bytes)
{
    ms_host_buffer *best = NULL;
    for (uint32_t i = 0; i < c->buffers.count; i++) {
        ms_host_buffer *b = &c->buffers.items[i];
        bool suits =
            b->storage == MS_NONE && b->bytes >= bytes && b->bytes - bytes <= bytes / WASTED_PART;
        if (suits && (!best || b->bytes < best->bytes))
            best = b;
    }
    return best;
}

/* Free buffers as large as the new one together, or all. A copy may still read from them. */
static ms_status make_room(ms_host_copies *c, uint64_t bytes, ms_error *err)
{
    uint64_t given = 0;
    for (uint32_t i = c->buffers.count; i-- > 0 && given < bytes;) {
        if (c->buffers.items[i].storage != MS_NONE)
            continue;
        ms_status status = MS_OK;
        if (c->backend && given == 0)
            status = c->backend->calls->synchronize(c->backend, NULL, err);
        if (status != MS_OK)
            return status;
        given += c->buffers.items[i].bytes;
        drop(c, i);
    }
    return MS_OK;
}

static ms_status add(ms_host_copies *c, uint64_t bytes, ms_host_buffer **added, ms_error *err)
{
    ms_host_buffer buffer = {.bytes = bytes, .storage = MS_NONE};
    if (!ms_vec_reserve(&c->buffers))
        return no_memory(err);
    ms_status status = make_room(c, bytes, err);
    if (status == MS_OK && c->backend)
        status = c->backend->calls->pin(c->backend, bytes, true, &buffer.memory, err);
    if (status != MS_OK)
        return status;
    (void)ms_vec_push(&c->buffers, buffer);
    *added = &c->buffers.items[c->buffers.count - 1];
    c->bytes += bytes;
    if (c->bytes > c->most_bytes)
        c->most_bytes = c->bytes;
    return MS_OK;
}

static ms_status begin_out(ms_host_copies *c, uint32_t work, ms_error *err)
{
    const ms_work *w = &c->trace->works.items[work];
    uint64_t bytes = (w->bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
    ms_host_buffer *buffer = find_free(c, bytes);
    ms_status status = buffer ? MS_OK : add(c, bytes, &buffer, err);
    if (status != MS_OK)
        return status;
    buffer->storage = w->source;
    buffer->out = work;
    buffer->back = MS_NONE;
    return MS_OK;
}

ms_status ms_host_copies_begin(ms_host_copies *c, uint32_t work, ms_error *err)
{
    const ms_work *w = &c->trace->works.items[work];
    if (!ms_host_copies_has(c, w))
        return MS_OK;
    if (w->kind == MS_WORK_TO_HOST)
        return begin_out(c, work, err);
    uint32_t storage = coming(c->trace, w);
    for (uint32_t i = 0; i < c->buffers.count; i++) {
        ms_host_buffer *b = &c->buffers.items[i];
        if (b->storage == storage && b->back == MS_NONE) {
            b->back = work;
            break;
        }
    }
    return MS_OK;
}

void ms_host_copies_wait(ms_host_copies *c, uint32_t work)
{
    for (uint32_t i = 0; i < c->buffers.count; i++) {
        ms_host_buffer *b = &c->buffers.items[i];
        if (b->storage != MS_NONE && b->back == work)
            b->storage = MS_NONE;
    }
}

void *ms_host_copies_memory(const ms_host_copies *c, uint32_t work)
{
    for (uint32_t i = 0; i < c->buffers.count; i++) {
        const ms_host_buffer *b = &c->buffers.items[i];
        if (b->storage != MS_NONE && (b->out == work || b->back == work))
            return b->memory;
    }
    return NULL;
}

ms_status ms_host_copies_count(const ms_trace *trace, uint64_t *bytes, ms_error *err)
{
    ms_host_copies c;
    ms_status status = ms_host_copies_open(&c, trace, NULL, err);
    for (uint32_t i = 0; i < trace->events.count && status == MS_OK; i++) {
        const ms_event e = trace->events.items[i];
        if (e.kind == MS_EVENT_WORK)
            status = ms_host_copies_begin(&c, e.id, err);
        else if (e.kind == MS_EVENT_WAIT)
            ms_host_copies_wait(&c, trace->waits.items[e.id].work);
    }
    *bytes = c.most_bytes;
    ms_host_copies_close(&c);
    return status;
}
