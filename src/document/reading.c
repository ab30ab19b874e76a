/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "document/reading.h"

const char *ms_report_text(ms_arena *arena, const char *text)
{
    char *copy = ms_arena_strdup(arena, text);
    for (char *p = copy; p && *p; p++)
        if ((unsigned char)*p < ' ' || *p == 0x7f)
            *p = '?';
    return copy;
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
