/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/document/recorded_ledger.h"

#include "input/document/recorded_members.h"

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

static ms_status read_memory(ms_json_value v, void *row, ms_error *err)
{
    ms_recorded_memory *m = row;
    ms_status status = get_device(v, &m->is_host, &m->device, err);
    if (status == MS_OK)
        status = ms_recorded_count(v, "peak_bytes", &m->peak_bytes, err);
    return status == MS_OK ? ms_recorded_count(v, "peak_used_bytes", &m->used_bytes, err) : status;
}

static ms_status read_buffer(ms_json_value v, void *row, ms_error *err)
{
    ms_recorded_buffer *b = row;
    ms_status status = get_device(v, &b->is_host, &b->device, err);
    if (status == MS_OK)
        status = ms_recorded_text(v, "kind", &b->kind, err);
    if (status == MS_OK)
        status = ms_recorded_count(v, "count", &b->count, err);
    if (status == MS_OK)
        status = ms_recorded_count(v, "bytes", &b->bytes, err);
    return status == MS_OK ? ms_recorded_count(v, "most_bytes", &b->most_bytes, err) : status;
}

static ms_status read_note(ms_json_value v, void *row, ms_error *err)
{
    return ms_json_get_string(v, row, err);
}

ms_status ms_recorded_read_ledger(ms_recorded *r, ms_json_value root, ms_error *err)
{
    ms_json_value ledger, list;
    void *memories = NULL, *buffers = NULL, *notes = NULL;
    if (!ms_json_find(root, "ledger", &ledger))
        return MS_OK;
    ms_status status = ms_recorded_text(ledger, "program", &r->ledger, err);
    if (status == MS_OK)
        status = ms_json_get_list(ledger, "memories", &list, err);
    if (status == MS_OK)
        status = ms_recorded_rows(r, list, sizeof *r->memories, &memories, &r->memory_count,
                                  read_memory, err);
    if (status == MS_OK)
        status = ms_json_get_list(ledger, "buffers", &list, err);
    if (status == MS_OK)
        status = ms_recorded_rows(r, list, sizeof *r->buffers, &buffers, &r->buffer_count,
                                  read_buffer, err);
    if (status == MS_OK && ms_json_find(root, "notes", &list))
        status =
            ms_recorded_rows(r, list, sizeof *r->notes, &notes, &r->note_count, read_note, err);
    r->memories = memories;
    r->buffers = buffers;
    r->notes = notes;
    return status;
}
