/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/stream/feed.h"

#include <inttypes.h>

#include "base/deadline.h"

static ms_status no_memory(ms_error *err)
{
    return ms_fail(err, MS_ERR_NOMEM, "no memory for a stream");
}

/* ---- events ---- */

static ms_status open_event(ms_stream_feed *f, ms_backend_event **event, ms_error *err)
{
    if (!ms_vec_reserve(&f->events))
        return no_memory(err);
    ms_status status = f->backend->calls->open_event(f->backend, event, err);
    if (status == MS_OK)
        (void)ms_vec_push(&f->events, *event);
    return status;
}

static ms_status record(ms_stream_feed *f, ms_backend_event **event, ms_backend_stream *stream,
                        ms_error *err)
{
    ms_status status = open_event(f, event, err);
    return status == MS_OK ? f->backend->calls->record(f->backend, *event, stream, err) : status;
}

/* ---- pinned memory ---- */

/* On demand: a buffer is pinned when it is first needed. */
static ms_status find_buffer(ms_stream_feed *f, uint32_t work, ms_stream_buffer **buffer,
                             ms_error *err)
{
    const ms_backend_calls *calls = f->backend->calls;
    uint32_t at = work % f->buffer_count;
    if (at == f->buffers.count) {
        ms_stream_buffer made = {0};
        if (!ms_vec_reserve(&f->buffers))
            return no_memory(err);
        ms_status status = calls->pin(f->backend, f->pass->slot_bytes, true, &made.memory, err);
        if (status != MS_OK)
            return status;
        (void)ms_vec_push(&f->buffers, made);
        f->pinned_bytes += f->pass->slot_bytes;
    }
    *buffer = &f->buffers.items[at];
    return (*buffer)->copied ? calls->finish(f->backend, (*buffer)->copied, err) : MS_OK;
}

static uint32_t layer_of(const ms_stream_feed *f, uint64_t index)
{
    return (uint32_t)(index % f->pass->layers.count);
}

static ms_status give(void *context, uint32_t work, uint64_t address, const void **memory,
                      ms_error *err)
{
    ms_stream_feed *f = context;
    ms_stream_buffer *buffer = NULL;
    (void)address;
    ms_status status = find_buffer(f, work, &buffer, err);
    if (status != MS_OK)
        return status;
    double begin_ms = ms_now_ms();
    if (f->weights)
        status = ms_stream_weights_fill(f->weights, layer_of(f, work), buffer->memory, err);
    if (status != MS_OK)
        return status;
    f->fill_ms += ms_now_ms() - begin_ms;
    *memory = buffer->memory;
    return ms_vec_push(&f->fetches, (ms_stream_fetch){0}) ? MS_OK : no_memory(err);
}

static ms_status begin(void *context, uint32_t work, ms_backend_stream *copies, ms_error *err)
{
    ms_stream_feed *f = context;
    return record(f, &f->fetches.items[work].begin, copies, err);
}

/* Until then the buffer is not filled again. */
static ms_status end(void *context, uint32_t work, ms_backend_stream *copies, ms_error *err)
{
    ms_stream_feed *f = context;
    ms_status status = record(f, &f->fetches.items[work].end, copies, err);
    f->buffers.items[work % f->buffer_count].copied = f->fetches.items[work].end;
    return status;
}

/* ---- layers ---- */

static ms_status open_check(ms_stream_feed *f, ms_error *err)
{
    if (f->check)
        return MS_OK;
    ms_status status = open_event(f, &f->checked, err);
    return status == MS_OK
               ? f->backend->calls->pin(f->backend, f->pass->slot_bytes, true, &f->check, err)
               : status;
}

/* Where it computes, in the order of the stream that computes. */
static ms_status check(ms_stream_feed *f, ms_backend_stream *operators, const char *when,
                       ms_error *err)
{
    const ms_backend_calls *calls = f->backend->calls;
    uint64_t index = f->uses.count - 1;
    uint32_t layer = layer_of(f, index);
    ms_status status = open_check(f, err);
    if (status == MS_OK)
        status = calls->copy(f->backend, operators, MS_COPY_TO_HOST, (uintptr_t)f->check,
                             f->address, f->pass->layers.items[layer].block_bytes, err);
    if (status == MS_OK)
        status = calls->record(f->backend, f->checked, operators, err);
    if (status == MS_OK)
        status = calls->finish(f->backend, f->checked, err);
    if (status != MS_OK)
        return status;
    if (ms_stop_asked(f->stop))
        return ms_fail(err, MS_ERR_STOPPED, "the replay was stopped");
    bool matches = false;
    f->checks++;
    status = ms_stream_weights_match(f->weights, layer, f->check, &matches, err);
    if (status != MS_OK || matches)
        return status;
    return ms_fail(err, MS_ERR_IO,
                   "layer %" PRIu32 " of pass %" PRIu64 " %s with other bytes on the device than "
                   "the host has",
                   layer, index / f->pass->layers.count + 1, when);
}

static bool is_checked(const ms_stream_feed *f)
{
    return f->uses.count > f->first_checked;
}

static ms_status end_use(ms_stream_feed *f, ms_backend_stream *operators, ms_error *err)
{
    if (!f->is_in_use)
        return MS_OK;
    f->is_in_use = false;
    ms_status status = record(f, &f->uses.items[f->uses.count - 1].end, operators, err);
    return status == MS_OK && is_checked(f) ? check(f, operators, "ends", err) : status;
}

static ms_status layer(void *context, uint32_t number, ms_backend_stream *operators, ms_error *err)
{
    ms_stream_feed *f = context;
    ms_status status = end_use(f, operators, err);
    if (status != MS_OK || number == MS_NONE)
        return status;
    if (!ms_vec_push(&f->uses, (ms_stream_use){0}))
        return no_memory(err);
    return record(f, &f->uses.items[f->uses.count - 1].ready, operators, err);
}

static ms_status took(void *context, uint32_t work, uint64_t address, ms_backend_stream *operators,
                      ms_error *err)
{
    ms_stream_feed *f = context;
    (void)work;
    f->is_in_use = true;
    f->address = address;
    ms_status status = record(f, &f->uses.items[f->uses.count - 1].begin, operators, err);
    return status == MS_OK && is_checked(f) ? check(f, operators, "begins", err) : status;
}

/* ---- all of it ---- */

ms_replay_feed ms_stream_feed_calls(ms_stream_feed *feed)
{
    return (ms_replay_feed){feed, give, begin, end, took, layer};
}

void ms_stream_feed_close(ms_stream_feed *f)
{
    const ms_backend_calls *calls = f->backend->calls;
    ms_error ignored = {0};
    (void)calls->synchronize(f->backend, NULL, &ignored);
    for (uint32_t i = 0; i < f->events.count; i++)
        calls->close_event(f->backend, f->events.items[i]);
    for (uint32_t i = 0; i < f->buffers.count; i++)
        calls->unpin(f->backend, f->buffers.items[i].memory, f->pass->slot_bytes, true);
    if (f->check)
        calls->unpin(f->backend, f->check, f->pass->slot_bytes, true);
    f->check = NULL;
    ms_vec_free(&f->events);
    ms_vec_free(&f->buffers);
    ms_vec_free(&f->fetches);
    ms_vec_free(&f->uses);
}
