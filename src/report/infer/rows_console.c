/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A table of predictions of inference, for people: at a terminal, and as Markdown.
 */
#include "report/infer/rows_console.h"

#include "report/kit/markdown.h"
#include "report/kit/text_table.h"

static const char *head(const void *view, uint32_t column)
{
    return ms_infer_rows_head(view, column);
}

static const char *cell(const void *view, uint32_t row, uint32_t column)
{
    const ms_infer_view *v = view;
    return ms_infer_rows_cell(v, &v->rows->rows.items[row], column);
}

static bool is_figure(const void *view, uint32_t column)
{
    return ms_infer_rows_is_figure(view, column);
}

static uint32_t goes(const void *view, uint32_t column)
{
    return ms_infer_rows_may_go(view, column) ? column : 0;
}

static ms_text_table table_of(const ms_infer_view *v)
{
    return (ms_text_table){.view = v,
                           .columns = ms_infer_rows_columns(v),
                           .rows = v->rows->rows.count,
                           .verdict = v->rows->field_count,
                           .head = head,
                           .cell = cell,
                           .is_figure = is_figure,
                           .goes = goes};
}

bool ms_infer_rows_console(FILE *out, const ms_infer_view *v)
{
    const ms_page page = ms_page_begin(out, v->style);
    const ms_text_table table = table_of(v);
    const char *title = ms_infer_title(v), *verdict = ms_infer_rows_verdict(v);
    if (!title || !verdict)
        return false;
    ms_page_title(&page, title, ms_infer_rows_fit(v) ? MS_TONE_GOOD : MS_TONE_BAD, verdict);
    ms_page_heading(&page, "Settings",
                    v->rows->has_speed ? "  (GiB; tokens/s: of decode, at most)" : "  (GiB)");
    if (!ms_text_table_console(&page, v->style, &table))
        return false;
    for (uint32_t i = 0; i < v->rows->notes.count; i++)
        ms_page_note(&page, "note:", v->rows->notes.items[i]);
    return !ms_arena_has_failed(v->arena);
}

bool ms_infer_rows_markdown(FILE *out, const ms_infer_view *v)
{
    const ms_text_table table = table_of(v);
    const char *title = ms_infer_title(v), *verdict = ms_infer_rows_verdict(v);
    if (!title || !verdict)
        return false;
    ms_markdown_title(out, "memscope infer", verdict, title);
    if (!ms_text_table_markdown(out, &table))
        return false;
    for (uint32_t i = 0; i < v->rows->notes.count; i++)
        ms_markdown_note(out, "note", v->rows->notes.items[i]);
    return !ms_arena_has_failed(v->arena);
}
