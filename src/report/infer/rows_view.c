/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/infer/rows_view.h"

#include <inttypes.h>
#include <string.h>

#include "text/number.h"

typedef enum column { VERDICT, NEEDS, OF, LEFT, LARGEST } column;

const char *ms_infer_row_verdict(const ms_infer_row *row)
{
    if (row->reason)
        return "error";
    if (row->budget_bytes == 0)
        return "unknown";
    return !row->fits ? "no" : row->needed.high > row->budget_bytes ? "tight" : "fits";
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

const char *ms_infer_rows_verdict(const ms_infer_view *v)
{
    const ms_infer_rows *rows = v->rows;
    const ms_infer_row *first;
    uint32_t count = count_fits(rows, &first);
    if (!first)
        return ms_arena_printf(v->arena, "none of %" PRIu32 " fits", rows->rows.count);
    const char *text = ms_arena_printf(v->arena, "%" PRIu32 " of %" PRIu32 " %s, the first with",
                                       count, rows->rows.count, count == 1 ? "fits" : "fit");
    for (uint32_t i = 0; text && i < rows->field_count; i++)
        text = ms_arena_printf(v->arena, "%s --%s %s", text, rows->fields[i], first->values[i]);
    return text;
}

const char *ms_infer_rows_head(const ms_infer_view *v, uint32_t index)
{
    static const char *const heads[] = {"verdict", "needs", "of", "left"};
    ms_infer_fit_kind fit = v->settings->fit;
    if (index < v->rows->field_count)
        return v->rows->fields[index];
    index -= v->rows->field_count;
    return index < LARGEST            ? heads[index]
           : index > LARGEST          ? NULL
           : fit == MS_INFER_FIT_NONE ? "what fits"
                                      : ms_infer_fit_names[fit];
}

bool ms_infer_rows_is_figure(const ms_infer_view *v, uint32_t index)
{
    return index > v->rows->field_count && index < v->rows->field_count + LARGEST;
}

static const char *gib(const ms_infer_view *v, const char *sign, uint64_t bytes)
{
    char text[MS_GIB_TEXT];
    return ms_arena_printf(v->arena, "%s%s", sign, ms_gib(bytes, text));
}

static const char *left(const ms_infer_view *v, const ms_infer_row *row)
{
    uint64_t need = row->needed.expected, there = row->budget_bytes;
    return need > there ? gib(v, "-", need - there) : gib(v, "", there - need);
}

static const char *largest(const ms_infer_view *v, const ms_infer_row *row)
{
    if (row->fit.what)
        return row->fit.value ? row->fit.value : "none";
    if (row->lever)
        return ms_arena_printf(v->arena, "--%s %" PRIu64, row->lever, row->lever_value);
    return row->fits ? "" : "nothing";
}

const char *ms_infer_rows_cell(const ms_infer_view *v, const ms_infer_row *row, uint32_t index)
{
    if (index < v->rows->field_count)
        return row->values[index];
    column which = (column)(index - v->rows->field_count);
    bool has_budget = row->budget_bytes > 0;
    if (which == VERDICT)
        return ms_infer_row_verdict(row);
    if (row->reason)
        return which == LARGEST ? row->reason : "";
    return which == NEEDS  ? gib(v, "", row->needed.expected)
           : which == OF   ? (has_budget ? gib(v, "", row->budget_bytes) : "-")
           : which == LEFT ? (has_budget ? left(v, row) : "-")
                           : largest(v, row);
}
