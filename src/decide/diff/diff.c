/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/diff/diff.h"

#include <stdlib.h>
#include <string.h>

const char *const ms_diff_kind_names[] = {
    [MS_DIFF_NEW] = "NEW", [MS_DIFF_GONE] = "GONE", [MS_DIFF_CHANGED] = "CHANGED"};

const ms_diff_title ms_diff_titles[] = {
    [MS_DIFF_CATEGORIES] = {"At the peak", "categories"},
    [MS_DIFF_PLACES] = {"At the peak, by place", "places"},
    [MS_DIFF_PHASES] = {"Highest in each phase", "phases"},
    [MS_DIFF_OPERATORS] = {"Operators", "operators"},
};

/* ---- fields ---- */

static const ms_report_field *find_field(const ms_report_fields *fields, const char *name)
{
    for (uint32_t i = 0; i < fields->count; i++)
        if (strcmp(fields->items[i].name, name) == 0)
            return &fields->items[i];
    return NULL;
}

/* Those of `a` that changed or went, then those that came. */
static const ms_field_change *compare_fields(ms_arena *arena, const ms_report_fields *a,
                                             const ms_report_fields *b, uint32_t *count)
{
    ms_field_change *rows = ms_arena_array(arena, ms_field_change, (size_t)a->count + b->count);
    *count = 0;
    for (uint32_t i = 0; rows && i < a->count; i++) {
        const ms_report_field *was = &a->items[i], *is = find_field(b, was->name);
        if (!is)
            rows[(*count)++] = (ms_field_change){MS_DIFF_GONE, was->name, was->value, NULL};
        else if (strcmp(was->value, is->value) != 0)
            rows[(*count)++] = (ms_field_change){MS_DIFF_CHANGED, was->name, was->value, is->value};
    }
    for (uint32_t i = 0; rows && i < b->count; i++)
        if (!find_field(a, b->items[i].name))
            rows[(*count)++] =
                (ms_field_change){MS_DIFF_NEW, b->items[i].name, NULL, b->items[i].value};
    return rows;
}

/* ---- parts ---- */

static int by_effect(const void *a, const void *b)
{
    const ms_part_change *x = a, *y = b;
    uint64_t x_bytes = ms_change_bytes(x), y_bytes = ms_change_bytes(y);
    if (x_bytes != y_bytes)
        return x_bytes > y_bytes ? -1 : 1;
    int order = strcmp(x->name, y->name);
    return order ? order : strcmp(x->where, y->where);
}

static int by_name(const void *a, const void *b)
{
    const ms_report_part *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    return order ? order : strcmp(x->where, y->where);
}

static ms_report_part *sorted(ms_arena *arena, const ms_report_parts *parts)
{
    ms_report_part *copy = ms_arena_array(arena, ms_report_part, parts->count);
    if (!copy)
        return NULL;
    if (parts->count)
        memcpy(copy, parts->items, parts->count * sizeof *copy);
    qsort(copy, parts->count, sizeof *copy, by_name);
    return copy;
}

/* Two sorted lists side by side. An operator that takes nothing may still come or go. */
static uint32_t join(const ms_report_part *a, uint32_t a_count, const ms_report_part *b,
                     uint32_t b_count, ms_part_change *rows)
{
    uint32_t count = 0;
    for (uint32_t i = 0, j = 0; i < a_count || j < b_count;) {
        int order = i == a_count ? 1 : j == b_count ? -1 : by_name(&a[i], &b[j]);
        const ms_report_part *named = order <= 0 ? &a[i] : &b[j];
        ms_part_change row = {
            .change = order == 0  ? MS_DIFF_CHANGED
                      : order < 0 ? MS_DIFF_GONE
                                  : MS_DIFF_NEW,
            .name = named->name,
            .where = named->where,
            .a_bytes = order <= 0 ? a[i].bytes : 0,
            .b_bytes = order >= 0 ? b[j].bytes : 0,
        };
        i += order <= 0;
        j += order >= 0;
        if (order != 0 || row.a_bytes != row.b_bytes)
            rows[count++] = row;
    }
    return count;
}

static bool compare_parts(ms_arena *arena, const ms_report_parts *a, const ms_report_parts *b,
                          ms_diff *diff, ms_diff_table table)
{
    ms_report_part *was = sorted(arena, a), *is = sorted(arena, b);
    ms_part_change *rows = ms_arena_array(arena, ms_part_change, (size_t)a->count + b->count);
    if (!was || !is || !rows)
        return false;
    diff->tables[table].items = rows;
    diff->tables[table].count = join(was, a->count, is, b->count, rows);
    qsort(rows, diff->tables[table].count, sizeof *rows, by_effect);
    return true;
}

/* At the peak, if both reports have it. */
static bool compare_operators(ms_arena *arena, const ms_report *a, const ms_report *b,
                              ms_diff *diff)
{
    bool at_peak = a->has_operators_at_peak && b->has_operators_at_peak;
    return compare_parts(arena, at_peak ? &a->operators_at_peak : &a->operators,
                         at_peak ? &b->operators_at_peak : &b->operators, diff, MS_DIFF_OPERATORS);
}

/* A plan knows neither phases nor operators: then there is nothing to compare. */
static bool compare_tables(ms_arena *arena, const ms_report *a, const ms_report *b, ms_diff *diff)
{
    bool whole = !a->is_plan && !b->is_plan;
    if (!compare_parts(arena, &a->categories, &b->categories, diff, MS_DIFF_CATEGORIES))
        return false;
    return !whole || (compare_parts(arena, &a->places, &b->places, diff, MS_DIFF_PLACES) &&
                      compare_parts(arena, &a->phases, &b->phases, diff, MS_DIFF_PHASES) &&
                      compare_operators(arena, a, b, diff));
}

static bool is_same(const ms_diff *diff)
{
    const ms_report *a = diff->a, *b = diff->b;
    uint32_t rows = diff->config_count + diff->settings_count;
    for (int i = 0; i < MS_DIFF_TABLES; i++)
        rows += diff->tables[i].count;
    return rows == 0 && a->peak_bytes == b->peak_bytes && a->reserved_bytes == b->reserved_bytes &&
           a->host_bytes == b->host_bytes && a->expected_bytes == b->expected_bytes;
}

ms_status ms_diff_make(ms_arena *arena, const ms_report *a, const ms_report *b, ms_diff *diff,
                       ms_error *err)
{
    *diff = (ms_diff){.a = a, .b = b};
    if (a->is_inference != b->is_inference)
        return ms_fail(err, MS_ERR_CONFIG,
                       "one report is of a step of training and the other of inference");
    bool has_keys = a->config.count && b->config.count;
    diff->config = compare_fields(arena, has_keys ? &a->config : &a->model,
                                  has_keys ? &b->config : &b->model, &diff->config_count);
    diff->settings = compare_fields(arena, &a->settings, &b->settings, &diff->settings_count);
    if (!diff->config || !diff->settings || !compare_tables(arena, a, b, diff))
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for a comparison");
    diff->is_same = is_same(diff);
    return MS_OK;
}
