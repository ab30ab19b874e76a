/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/fields/field.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/text/nearest.h"

enum { WORD_BITS = 64 };

static void *member_of(const ms_config_field *field, void *object)
{
    return (char *)object + field->offset;
}

static uint64_t *word_of(const ms_config_table *table, void *object, size_t index)
{
    return (uint64_t *)(void *)((char *)object + table->is_set) + index / WORD_BITS;
}

static uint64_t bit_of(size_t index)
{
    return UINT64_C(1) << index % WORD_BITS;
}

int ms_config_field_find(const ms_config_table *table, const char *name)
{
    const int first = tolower((unsigned char)name[0]); /* names begin with a small letter */
    for (size_t i = 0; i < table->count; i++)          /* most are as they are in the table */
        if (table->rows[i].name[0] == first && strcmp(table->rows[i].name, name) == 0)
            return (int)i;
    for (size_t i = 0; i < table->count; i++)
        if (table->rows[i].name[0] == first && ms_name_equal(table->rows[i].name, name))
            return (int)i;
    return -1;
}

bool ms_config_field_is_set(const ms_config_table *table, const void *object, size_t index)
{
    const char *bits = (const char *)object + table->is_set;
    return (((const uint64_t *)(const void *)bits)[index / WORD_BITS] & bit_of(index)) != 0;
}

void ms_config_field_unset(const ms_config_table *table, void *object, size_t index)
{
    const ms_config_field *field = &table->rows[index];
    memset(member_of(field, object), 0, field->bytes);
    *word_of(table, object, index) &= ~bit_of(index);
}

static ms_status read_value(const ms_config_field *field, void *object, ms_arena *arena,
                            const char *value, ms_error *err)
{
    return field->kind->set(field, value, member_of(field, object), arena, err);
}

ms_status ms_config_field_set(const ms_config_table *table, void *object, ms_arena *arena,
                              const char *name, const char *value, ms_error *err)
{
    char hint[MS_CONFIG_HINT_BYTES];
    int index = ms_config_field_find(table, name);
    if (index < 0)
        return ms_fail(err, MS_ERR_USAGE, "unknown field '%.40s'%s", name,
                       ms_config_field_hint(table, name, hint));
    const ms_config_field *field = &table->rows[index];
    if (field->added_after && ms_config_field_is_set(table, object, (size_t)index))
        value = ms_arena_printf(arena, "%s%c%s", *(const char **)member_of(field, object),
                                field->added_after, value);
    if (!value)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory");
    ms_status status = read_value(field, object, arena, value, err);
    if (status == MS_OK)
        *word_of(table, object, (size_t)index) |= bit_of((size_t)index);
    return status;
}

ms_status ms_config_field_fill(const ms_config_table *table, void *object, ms_arena *arena,
                               ms_error *err)
{
    ms_status status = MS_OK;
    for (size_t i = 0; i < table->count && status == MS_OK; i++) {
        const char *text = table->texts[i].default_text;
        if (text && !table->rows[i].default_is_words && !ms_config_field_is_set(table, object, i))
            status = read_value(&table->rows[i], object, arena, text, err);
    }
    return status;
}

const char *ms_config_field_hint(const ms_config_table *table, const char *name,
                                 char out[MS_CONFIG_HINT_BYTES])
{
    const char *why = table->why_not ? table->why_not(name) : NULL;
    if (why) {
        snprintf(out, MS_CONFIG_HINT_BYTES, ": %s", why);
        return out;
    }
    ms_nearest nearest = ms_nearest_to(name);
    for (size_t i = 0; i < table->count; i++)
        ms_nearest_offer(&nearest, table->rows[i].name);
    return ms_nearest_hint(&nearest, out, MS_CONFIG_HINT_BYTES);
}

static const char *item_of(const char *const *list, size_t index)
{
    for (size_t i = 0; list && i < index && *list; i++)
        list++;
    return list ? *list : NULL;
}

const char *ms_config_field_choice(const ms_config_field *field, size_t index)
{
    if (field->choice_at)
        return field->choice_at(index);
    return item_of(field->choices ? field->choices : field->kind->choices, index);
}

const char *ms_config_field_example(const ms_config_field *field, size_t index)
{
    return item_of(field->examples, index);
}

void ms_config_field_show(const ms_config_field *field, const void *object, ms_config_shown *shown)
{
    field->kind->show(field, (const char *)object + field->offset, shown);
}
