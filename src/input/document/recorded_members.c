/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/document/recorded_members.h"

#include "base/error.h"

ms_status ms_recorded_count(ms_json_value object, const char *key, uint64_t *count, ms_error *err)
{
    ms_json_value v;
    ms_status status = ms_json_get_member(object, key, &v, err);
    return status == MS_OK ? ms_json_get_count(v, 0, UINT64_MAX, count, err) : status;
}

ms_status ms_recorded_text(ms_json_value object, const char *key, const char **text, ms_error *err)
{
    ms_json_value v;
    ms_status status = ms_json_get_member(object, key, &v, err);
    return status == MS_OK ? ms_json_get_string(v, text, err) : status;
}

ms_status ms_recorded_rows(const ms_recorded *r, ms_json_value list, size_t size, void **rows,
                           uint32_t *count, ms_recorded_read_fn *read, ms_error *err)
{
    ms_json_value v;
    uint32_t length = ms_json_length(list);
    char *row = ms_arena_alloc(r->arena, length, size);
    if (!row)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for a report");
    *rows = row;
    ms_status status = ms_json_expect(list, MS_JSON_ARRAY, err);
    for (bool more = status == MS_OK && ms_json_first(list, &v); more && status == MS_OK;
         more = ms_json_next(&v), row += size)
        status = read(v, row, err);
    *count = status == MS_OK ? length : 0;
    return status;
}
