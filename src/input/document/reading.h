/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A report while it is read, shared by the files that read its parts.
 */
#ifndef MS_INPUT_DOCUMENT_READING_H
#define MS_INPUT_DOCUMENT_READING_H

#include "base/json/members.h"
#include "input/document/report.h"

typedef struct ms_reading {
    ms_arena *arena;
    ms_json_value root;
    ms_report *report;
    ms_error *err;
} ms_reading;

static inline ms_status ms_reading_no_memory(const ms_reading *r)
{
    return ms_fail(r->err, MS_ERR_NOMEM, "out of memory for a report");
}

/* A printable copy: control characters become '?'. NULL when out of memory. */
const char *ms_report_text(ms_arena *arena, const char *text);

/* For members by rows: texts are printable copies. */
ms_members_reading ms_reading_members(const ms_reading *r);

/* A printable copy of a string member; "" if absent. */
ms_status ms_reading_text(const ms_reading *r, ms_json_value object, const char *key,
                          const char **text);

/* The members of an object that `is_wanted` takes. */
ms_status ms_reading_fields(const ms_reading *r, ms_json_value object,
                            bool (*is_wanted)(const char *name), ms_report_fields *fields);

#endif
