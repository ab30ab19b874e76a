/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/kit/field.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/locale.h"

static bool grow(ms_field_list *list)
{
    enum { FIRST_CAPACITY = 64 };
    uint32_t capacity = list->capacity ? 2 * list->capacity : FIRST_CAPACITY;
    ms_field *items = ms_arena_array(list->arena, ms_field, capacity);
    if (!items)
        return false;
    if (list->count)
        memcpy(items, list->items, list->count * sizeof *items);
    list->items = items;
    list->capacity = capacity;
    return true;
}

void ms_field_list_add(ms_field_list *list, ms_field field)
{
    bool is_whole = field.name && (field.kind != MS_FIELD_TEXT || field.text);
    if (!is_whole || (list->count == list->capacity && !grow(list)))
        list->has_failed = true;
    else
        list->items[list->count++] = field;
}

uint32_t ms_field_value(const ms_field *field, char *out, uint32_t size)
{
    int length = 0;
    switch (field->kind) {
    case MS_FIELD_TEXT:
        length = snprintf(out, size, "%s", field->text);
        break;
    case MS_FIELD_COUNT:
        length = snprintf(out, size, "%" PRIu64, field->count);
        break;
    case MS_FIELD_BOOL:
        length = snprintf(out, size, "%s", field->count ? "true" : "false");
        break;
    case MS_FIELD_NUMBER:
        length = ms_text_print(out, size, "%g", field->number);
        break;
    case MS_FIELD_NULL:
        length = snprintf(out, size, "none");
        break;
    }
    return length > 0 ? (uint32_t)length : 0;
}

void ms_field_json(ms_json_writer *w, const ms_field *f)
{
    switch (f->kind) {
    case MS_FIELD_TEXT:
        ms_json_string(w, f->name, f->text);
        break;
    case MS_FIELD_COUNT:
        ms_json_uint(w, f->name, f->count);
        break;
    case MS_FIELD_BOOL:
        ms_json_bool(w, f->name, f->count != 0);
        break;
    case MS_FIELD_NUMBER:
        ms_json_double(w, f->name, f->number, 6);
        break;
    case MS_FIELD_NULL:
        ms_json_null(w, f->name);
        break;
    }
}
