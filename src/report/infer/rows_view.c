/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/infer/rows_view.h"

#include <inttypes.h>
#include <string.h>

#include "report/infer/choice_view.h"
#include "report/infer/speed_view.h"
#include "base/text/number.h"

const char *ms_infer_row_verdict(const ms_infer_row *row)
{
    if (row->reason)
        return "error";
    if (row->budget_bytes == 0)
        return "unknown";
    return ms_fit_verdict_name(ms_reason_verdict(row->fit_reason));
}

static uint32_t count_fits(const ms_infer_rows *rows, const ms_infer_row **first)
{
    uint32_t count = 0;
    *first = NULL;
    for (uint32_t i = 0; i < rows->rows.count; i++) {
        const ms_infer_row *row = &rows->rows.items[i];
        if (row->reason || !row->fits)
            continue;
        *first = *first ? *first : row;
        count++;
    }
    return count;
}

static bool has_budget(const ms_infer_rows *rows)
{
    for (uint32_t i = 0; i < rows->rows.count; i++)
        if (rows->rows.items[i].budget_bytes > 0)
            return true;
    return false;
}

const char *ms_infer_rows_verdict(const ms_infer_view *v)
{
    const ms_infer_rows *rows = v->rows;
    const ms_infer_row *first;
    uint32_t count = count_fits(rows, &first);
    if (!has_budget(rows))
        return "give --budget to see what fits";
    if (!first)
        return ms_arena_printf(v->arena, "none of %" PRIu32 " rows fits", rows->rows.count);
    const char *text = ms_arena_printf(v->arena, "%" PRIu32 " of %" PRIu32 " %s, the first with",
                                       count, rows->rows.count, count == 1 ? "fits" : "fit");
    for (uint32_t i = 0; text && i < rows->field_count; i++)
        text = ms_arena_printf(v->arena, "%s --%s %s", text, rows->fields[i], first->values[i]);
    return text;
}

bool ms_infer_rows_fit(const ms_infer_view *v)
{
    const ms_infer_row *first;
    return count_fits(v->rows, &first) > 0;
}

/* ---- columns ---- */

static const char *gib(const ms_infer_view *v, const char *sign, uint64_t bytes)
{
    char text[MS_GIB_TEXT];
    return ms_arena_printf(v->arena, "%s%s", sign, ms_gib(bytes, text));
}

static const char *needs(const ms_infer_view *v, const ms_infer_row *row)
{
    return gib(v, "", row->needed.expected);
}

static const char *left(const ms_infer_view *v, const ms_infer_row *row)
{
    uint64_t need = row->needed.expected, there = row->budget_bytes;
    if (there == 0)
        return "-";
    return need > there ? gib(v, "-", need - there) : gib(v, "", there - need);
}

static const char *weights(const ms_infer_view *v, const ms_infer_row *row)
{
    return gib(v, "", row->weight_bytes);
}

static const char *cache(const ms_infer_view *v, const ms_infer_row *row)
{
    return gib(v, "", row->cache_bytes);
}

static const char *host(const ms_infer_view *v, const ms_infer_row *row)
{
    return gib(v, "", row->host_bytes);
}

/* Of tokens that are made, by what fits: an upper bound. */
static const char *speed(const ms_infer_view *v, const ms_infer_row *row)
{
    char text[MS_SPEED_TEXT];
    return row->fits && row->speed.decode.per_s > 0
               ? ms_arena_strdup(v->arena, ms_infer_speed_number(row->speed.decode.per_s, text))
               : "-";
}

/* Of `fit` where it was asked for, or what the engine chooses itself; else what fits instead or how
 * much more does. */
static const char *largest(const ms_infer_view *v, const ms_infer_row *row)
{
    if (row->fit.what)
        return row->fit.value ? row->fit.value : "none";
    if (row->chosen)
        return ms_infer_choice_short(v->arena, row->chosen);
    if (row->lever)
        return ms_arena_printf(v->arena, "--%s %" PRIu64, row->lever, row->lever_value);
    return "";
}

/* Of the host there is a column where it needs more than a little. */
static bool has_host(const ms_infer_view *v)
{
    return v->rows->most_host_bytes > UINT64_C(1) << 30;
}

static bool has_speed(const ms_infer_view *v)
{
    return v->rows->has_speed;
}

/* Behind the fields that differ and the verdict; the last one has the reason of an error. */
static const struct {
    const char *head;
    const char *(*cell)(const ms_infer_view *view, const ms_infer_row *row);
    bool (*is_there)(const ms_infer_view *view); /* NULL: always */
    bool may_go;
} columns[] = {{"needs", needs, NULL, false},      {"left", left, NULL, true},
               {"weights", weights, NULL, true},   {"cache", cache, NULL, true},
               {"host", host, has_host, false},    {"tokens/s", speed, has_speed, false},
               {"what fits", largest, NULL, false}};
enum { COLUMNS = sizeof columns / sizeof columns[0], LAST = COLUMNS - 1 };

static bool is_there(const ms_infer_view *v, uint32_t column)
{
    return !columns[column].is_there || columns[column].is_there(v);
}

uint32_t ms_infer_rows_columns(const ms_infer_view *v)
{
    uint32_t count = v->rows->field_count + 1;
    for (uint32_t i = 0; i < COLUMNS; i++)
        count += is_there(v, i);
    return count;
}

/* Index in `columns`. */
static uint32_t column_of(const ms_infer_view *v, uint32_t index)
{
    uint32_t left_out = index - (v->rows->field_count + 1), i = 0;
    while (i < LAST && (!is_there(v, i) || left_out-- > 0))
        i++;
    return i;
}

const char *ms_infer_rows_head(const ms_infer_view *v, uint32_t index)
{
    ms_infer_fit_kind fit = v->settings->fit;
    if (index < v->rows->field_count)
        return v->rows->fields[index];
    if (index == v->rows->field_count)
        return "verdict";
    uint32_t which = column_of(v, index);
    return which == LAST && fit != MS_INFER_FIT_NONE ? ms_infer_fit_names[fit]
                                                     : columns[which].head;
}

bool ms_infer_rows_is_figure(const ms_infer_view *v, uint32_t index)
{
    return index > v->rows->field_count && column_of(v, index) < LAST;
}

bool ms_infer_rows_may_go(const ms_infer_view *v, uint32_t index)
{
    return index > v->rows->field_count && columns[column_of(v, index)].may_go;
}

const char *ms_infer_rows_cell(const ms_infer_view *v, const ms_infer_row *row, uint32_t index)
{
    if (index < v->rows->field_count)
        return row->values[index];
    if (index == v->rows->field_count)
        return ms_infer_row_verdict(row);
    uint32_t which = column_of(v, index);
    if (row->reason)
        return which == LAST ? row->reason : "";
    return columns[which].cell(v, row);
}
