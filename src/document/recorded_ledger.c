/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "document/recorded_ledger.h"

#include "base/error.h"

static ms_status get_count(ms_json_value object, const char *key, uint64_t *count, ms_error *err)
{
    ms_json_value v;
    ms_status status = ms_json_get_member(object, key, &v, err);
    return status == MS_OK ? ms_json_get_count(v, 0, UINT64_MAX, count, err) : status;
}

/* null is the host. */
static ms_status get_device(ms_json_value object, bool *is_host, uint64_t *device, ms_error *err)
{
    ms_json_value v;
    ms_status status = ms_json_get_member(object, "device", &v, err);
    if (status != MS_OK)
        return status;
    *is_host = ms_json_kind_of(v) == MS_JSON_NULL;
    return *is_host ? MS_OK : ms_json_get_count(v, 0, UINT32_MAX, device, err);
}

static ms_status read_memory(ms_json_value v, ms_recorded_memory *m, ms_error *err)
{
    ms_status status = get_device(v, &m->is_host, &m->device, err);
    if (status == MS_OK)
        status = get_count(v, "peak_bytes", &m->peak_bytes, err);
    return status == MS_OK ? get_count(v, "peak_used_bytes", &m->used_bytes, err) : status;
}

static ms_status read_buffer(ms_json_value v, ms_recorded_buffer *b, ms_error *err)
{
    ms_json_value kind;
    ms_status status = get_device(v, &b->is_host, &b->device, err);
    if (status == MS_OK)
        status = ms_json_get_member(v, "kind", &kind, err);
    if (status == MS_OK)
        status = ms_json_get_string(kind, &b->kind, err);
    if (status == MS_OK)
        status = get_count(v, "count", &b->count, err);
    if (status == MS_OK)
        status = get_count(v, "bytes", &b->bytes, err);
    return status == MS_OK ? get_count(v, "most_bytes", &b->most_bytes, err) : status;
}

static ms_status no_memory(ms_error *err)
{
    return ms_fail(err, MS_ERR_NOMEM, "out of memory for a report");
}

static ms_status read_memories(ms_recorded *r, ms_json_value list, ms_error *err)
{
    ms_json_value v;
    ms_status status = MS_OK;
    uint32_t count = 0;
    r->memories = ms_arena_alloc(r->arena, ms_json_length(list), sizeof *r->memories);
    if (!r->memories)
        return no_memory(err);
    for (bool more = ms_json_first(list, &v); more && status == MS_OK; more = ms_json_next(&v))
        status = read_memory(v, &r->memories[count++], err);
    r->memory_count = count;
    return status;
}

static ms_status read_buffers(ms_recorded *r, ms_json_value list, ms_error *err)
{
    ms_json_value v;
    ms_status status = MS_OK;
    uint32_t count = 0;
    r->buffers = ms_arena_alloc(r->arena, ms_json_length(list), sizeof *r->buffers);
    if (!r->buffers)
        return no_memory(err);
    for (bool more = ms_json_first(list, &v); more && status == MS_OK; more = ms_json_next(&v))
        status = read_buffer(v, &r->buffers[count++], err);
    r->buffer_count = count;
    return status;
}

static ms_status read_notes(ms_recorded *r, ms_json_value root, ms_error *err)
{
    ms_json_value list, v;
    ms_status status = MS_OK;
    uint32_t count = 0;
    if (!ms_json_find(root, "notes", &list))
        return MS_OK;
    status = ms_json_expect(list, MS_JSON_ARRAY, err);
    if (status == MS_OK)
        r->notes = ms_arena_alloc(r->arena, ms_json_length(list), sizeof *r->notes);
    if (status == MS_OK && !r->notes)
        return no_memory(err);
    for (bool more = status == MS_OK && ms_json_first(list, &v); more && status == MS_OK;
         more = ms_json_next(&v))
        status = ms_json_get_string(v, &r->notes[count++], err);
    r->note_count = status == MS_OK ? count : 0;
    return status;
}

ms_status ms_recorded_read_ledger(ms_recorded *r, ms_json_value root, ms_error *err)
{
    ms_json_value ledger, v;
    if (!ms_json_find(root, "ledger", &ledger))
        return MS_OK;
    ms_status status = ms_json_get_member(ledger, "program", &v, err);
    if (status == MS_OK)
        status = ms_json_get_string(v, &r->ledger, err);
    if (status == MS_OK)
        status = ms_json_get_list(ledger, "memories", &v, err);
    if (status == MS_OK)
        status = read_memories(r, v, err);
    if (status == MS_OK)
        status = ms_json_get_list(ledger, "buffers", &v, err);
    if (status == MS_OK)
        status = read_buffers(r, v, err);
    return status == MS_OK ? read_notes(r, root, err) : status;
}
