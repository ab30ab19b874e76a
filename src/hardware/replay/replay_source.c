/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "hardware/replay/replay_source.h"

ms_status ms_replay_source_look(ms_replay_source *s, ms_error *err)
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
    return ms_replay_source_look(s, &s->failure);
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

ms_memory ms_replay_source_memory(ms_replay_source *source)
{
    return (ms_memory){source, reserve, release, map, unmap};
}
