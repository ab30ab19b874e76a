/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/sweep/axis.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "input/config/fields/kinds.h"
#include "input/config/load/load.h"
#include "input/config/model/input.h"
#include "input/config/names/preset.h"
#include "input/config/run/run_fields.h"
#include "core/device/device.h"
#include "base/json/number.h"

void ms_sweep_axis_free(ms_sweep_axis *axis)
{
    ms_vec_free(&axis->parts);
    *axis = (ms_sweep_axis){0};
}

static ms_status check_run(ms_arena *arena, const char *field, const char *value, ms_error *err)
{
    ms_run_draft draft = {0};
    return ms_run_field_set(&draft, arena, field, value, err);
}

static const ms_sweep_axis_of of_runs = {.table = &ms_run_table, .check = check_run};

typedef struct adding {
    ms_sweep_axis *axis;
    const ms_sweep_axis_of *of;
    ms_arena *arena;
    ms_error *err;
} adding;

static const ms_config_field *row_of(const adding *a)
{
    return &a->of->table->rows[a->axis->field];
}

static const char *name_of(const adding *a)
{
    return row_of(a)->name;
}

static ms_status push(const adding *a, ms_sweep_axis_part part)
{
    if (!ms_vec_push(&a->axis->parts, part) ||
        __builtin_add_overflow(a->axis->count, part.count, &a->axis->count))
        return ms_fail(a->err, MS_ERR_NOMEM, "out of memory for the values of %s", name_of(a));
    return MS_OK;
}

static ms_status check(const adding *a, const char *value)
{
    return a->of->check(a->arena, name_of(a), value, a->err);
}

static ms_status push_text(const adding *a, const char *text)
{
    if (strpbrk(text, "\r\n"))
        return ms_fail(a->err, MS_ERR_USAGE, "%s: a value may not contain a line break",
                       name_of(a));
    if (row_of(a)->kind->is_file && strcmp(text, "-") == 0)
        return ms_fail(a->err, MS_ERR_USAGE, "%s: a sweep cannot read a file from standard input",
                       name_of(a));
    ms_status status = check(a, text);
    return status == MS_OK ? push(a, (ms_sweep_axis_part){.text = text, .count = 1}) : status;
}

/* ---- ranges ---- */

static ms_status fail_range(const adding *a, const char *text)
{
    return ms_fail(a->err, MS_ERR_USAGE,
                   "%s: found '%.40s', expected FIRST:LAST, FIRST:LAST:+STEP or FIRST:LAST:*FACTOR",
                   name_of(a), text);
}

static bool is_number(const char *text, size_t length, uint64_t *number)
{
    return ms_number_count(text, length, number) == MS_COUNT_OK;
}

static void count_values(ms_sweep_axis_part *part, uint64_t last)
{
    uint64_t value = part->first;
    part->count = 1;
    if (!part->multiplies) {
        part->count += (last - part->first) / part->step;
        return;
    }
    while (value <= last / part->step) {
        value *= part->step;
        part->count++;
    }
}

static const char *part_value(const ms_sweep_axis_part *part, uint64_t index, ms_arena *arena)
{
    uint64_t value = part->first;
    if (part->text)
        return part->text;
    if (!part->multiplies)
        value += index * part->step;
    for (uint64_t i = 0; part->multiplies && i < index; i++)
        value *= part->step;
    return ms_arena_printf(arena, "%" PRIu64, value);
}

/* The last value of a range is one that the field takes, so all are. */
static ms_status check_last(const adding *a, const ms_sweep_axis_part *part)
{
    const char *first = part_value(part, 0, a->arena);
    const char *last = part_value(part, part->count - 1, a->arena);
    if (!first || !last)
        return ms_fail(a->err, MS_ERR_NOMEM, "out of memory for the values of %s", name_of(a));
    ms_status status = check(a, first);
    return status == MS_OK ? check(a, last) : status;
}

static ms_status push_range(const adding *a, const char *text, const char *colon)
{
    ms_sweep_axis_part part = {.step = 1};
    const char *second = colon + 1, *step = strchr(second, ':');
    size_t length = step ? (size_t)(step - second) : strlen(second);
    uint64_t last;
    if (!is_number(text, (size_t)(colon - text), &part.first) || !is_number(second, length, &last))
        return fail_range(a, text);
    if (step) {
        part.multiplies = step[1] == '*';
        step += step[1] == '*' || step[1] == '+' ? 2 : 1;
        if (!is_number(step, strlen(step), &part.step) || part.step < 1 + (uint64_t)part.multiplies)
            return fail_range(a, text);
    }
    if (last < part.first || (part.multiplies && part.first == 0))
        return ms_fail(a->err, MS_ERR_USAGE, "%s: '%.40s' contains no value", name_of(a), text);
    count_values(&part, last);
    ms_status status = check_last(a, &part);
    return status == MS_OK ? push(a, part) : status;
}

/* ---- all of a known set ---- */

static ms_status push_devices(const adding *a)
{
    const ms_device *devices;
    uint32_t count = 0;
    ms_status status = ms_devices_load(a->arena, &devices, &count, a->err);
    if (status != MS_OK)
        return status;
    const ms_device **order = ms_arena_array(a->arena, const ms_device *, count);
    if (!order)
        return ms_fail(a->err, MS_ERR_NOMEM, "no memory for devices");
    for (uint32_t i = 0; i < count; i++)
        order[i] = &devices[i];
    qsort(order, count, sizeof *order, ms_device_by_size);
    for (uint32_t i = 0; i < count && status == MS_OK; i++)
        if (!order[i]->is_cpu)
            status = push_text(a, order[i]->name);
    return status;
}

static ms_status push_all(const adding *a)
{
    ms_status status = MS_OK;
    const char *name;
    if (strcmp(name_of(a), "device") == 0)
        return push_devices(a);
    if (strcmp(name_of(a), "config") == 0)
        for (size_t i = 0; (name = ms_preset_name(i)) != NULL && status == MS_OK; i++)
            status = push_text(a, name);
    else
        for (size_t i = 0; (name = ms_config_field_choice(row_of(a), i)) && status == MS_OK; i++)
            status = push_text(a, name);
    return status;
}

/* Whether "all" stands for every value there is. */
static bool has_known_set(const adding *a)
{
    return ms_config_field_choice(row_of(a), 0) || strcmp(name_of(a), "device") == 0 ||
           strcmp(name_of(a), "config") == 0;
}

/* ---- lists ---- */

static ms_status push_item(const adding *a, const char *item)
{
    const char *colon = row_of(a)->kind->is_count ? strchr(item, ':') : NULL;
    if (strcmp(item, "all") == 0 && has_known_set(a))
        return push_all(a);
    return colon ? push_range(a, item, colon) : push_text(a, item);
}

ms_status ms_sweep_axis_add(ms_sweep_axis *axis, ms_arena *arena, const char *list, ms_error *err)
{
    const adding a = {axis, axis->of ? axis->of : &of_runs, arena, err};
    char *rest = ms_arena_strdup(arena, list);
    if (!rest)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for the values of %s", name_of(&a));
    const ms_config_kind *kind = row_of(&a)->kind;
    bool has_commas = kind->has_commas || (a.of->texts_have_commas && kind == &ms_config_kind_text);
    const char *cuts = has_commas || strchr(list, ';') ? ";" : ",";
    for (ms_status status = MS_OK;;) {
        char *item = rest, *end = strpbrk(item, cuts);
        if (end)
            *end = '\0';
        status = push_item(&a, item);
        if (!end || status != MS_OK)
            return status;
        rest = end + 1;
    }
}

const char *ms_sweep_axis_value(const ms_sweep_axis *axis, uint64_t index, ms_arena *arena)
{
    const ms_sweep_axis_part *part = axis->parts.items;
    for (; index >= part->count; part++)
        index -= part->count;
    return part_value(part, index, arena);
}
