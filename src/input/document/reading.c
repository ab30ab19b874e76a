/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/document/reading.h"

#include <string.h>

const char *ms_report_text(ms_arena *arena, const char *text)
{
    char *copy = ms_arena_strdup(arena, text);
    for (char *p = copy; p && *p; p++)
        if ((unsigned char)*p < ' ' || *p == 0x7f)
            *p = '?';
    return copy;
}

ms_members_reading ms_reading_members(const ms_reading *r)
{
    return (ms_members_reading){
        .what = "a report", .arena = r->arena, .text = ms_report_text, .err = r->err};
}

ms_status ms_reading_text(const ms_reading *r, ms_json_value object, const char *key,
                          const char **text)
{
    ms_json_value value;
    const char *found = "";
    ms_status status = MS_OK;
    if (ms_json_find(object, key, &value))
        status = ms_json_get_string(value, &found, r->err);
    *text = ms_report_text(r->arena, found);
    return status == MS_OK && !*text ? ms_reading_no_memory(r) : status;
}

/* ---- fields ---- */

/* Far more than a report has: each is looked up among the others. */
enum { MOST_FIELDS = 1024 };

/* Without zeros at the end of a fraction: a file may have been written again by something else. */
static size_t significant(const char *text, size_t bytes)
{
    if (!memchr(text, '.', bytes) || memchr(text, 'e', bytes) || memchr(text, 'E', bytes))
        return bytes;
    while (text[bytes - 1] == '0')
        bytes--;
    return text[bytes - 1] == '.' ? bytes - 1 : bytes;
}

static const char *value_text(const ms_reading *r, ms_json_value value)
{
    const char *text = NULL;
    size_t bytes;
    if (ms_json_kind_of(value) == MS_JSON_STRING &&
        ms_json_get_string(value, &text, r->err) == MS_OK)
        return ms_report_text(r->arena, text);
    text = ms_json_source_text(value, &bytes);
    if (ms_json_kind_of(value) == MS_JSON_NUMBER)
        bytes = significant(text, bytes);
    text = ms_arena_printf(r->arena, "%.*s", (int)bytes, text);
    return text ? ms_report_text(r->arena, text) : NULL;
}

ms_status ms_reading_fields(const ms_reading *r, ms_json_value object,
                            bool (*is_wanted)(const char *name), ms_report_fields *fields)
{
    ms_report_field *items = ms_arena_array(r->arena, ms_report_field, ms_json_length(object));
    ms_json_value v;
    if (!items)
        return ms_reading_no_memory(r);
    if (ms_json_length(object) > MOST_FIELDS)
        return ms_json_fail(r->err, object, MS_JSON_AT_KEY, MS_ERR_LIMIT, "more than %d members",
                            MOST_FIELDS);
    fields->items = items;
    for (bool more = ms_json_first(object, &v); more; more = ms_json_next(&v)) {
        if (!is_wanted(ms_json_key(v)))
            continue;
        ms_report_field field = {ms_report_text(r->arena, ms_json_key(v)), value_text(r, v)};
        if (!field.name || !field.value)
            return ms_reading_no_memory(r);
        items[fields->count++] = field;
    }
    return MS_OK;
}
