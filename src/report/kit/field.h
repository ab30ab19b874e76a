/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A named value of a run or a model, for all formats.
 */
#ifndef MS_REPORT_KIT_FIELD_H
#define MS_REPORT_KIT_FIELD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/json/write.h"

typedef enum ms_field_kind {
    MS_FIELD_TEXT,
    MS_FIELD_COUNT,
    MS_FIELD_BOOL,
    MS_FIELD_NUMBER,
    MS_FIELD_NULL
} ms_field_kind;

typedef enum ms_field_group {
    MS_FIELD_RUN,   /* an option of the run */
    MS_FIELD_MODEL, /* of the model, as read */
    MS_FIELD_DETAIL /* machine-readable detail, not shown to people */
} ms_field_group;

typedef struct ms_field {
    const char *name;
    ms_field_group group;
    ms_field_kind kind;
    const char *text;
    uint64_t count; /* also for MS_FIELD_BOOL */
    double number;
} ms_field;

/* A list of fields in an arena. */
typedef struct ms_field_list {
    ms_arena *arena;
    ms_field *items;
    uint32_t count, capacity;
    bool has_failed; /* out of memory */
} ms_field_list;

/* Appends a field; a NULL name or text means out of memory. */
void ms_field_list_add(ms_field_list *list, ms_field field);

/* "1", "adamw", "none"; returns the length needed. */
uint32_t ms_field_value(const ms_field *field, char *out, uint32_t size);

/* Writes the field as a member of the open object. */
void ms_field_json(ms_json_writer *w, const ms_field *f);

#endif
