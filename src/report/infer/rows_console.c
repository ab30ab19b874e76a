/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A table of predictions of inference, for people: at a terminal, and as Markdown.
 */
#include "report/infer/rows_console.h"

#include <string.h>

#include "base/printable.h"
#include "report/kit/markdown.h"

enum { MOST_WIDTH = 40 };

/* 0 for the last column, which takes what there is. */
static uint32_t width_of(const ms_infer_view *v, uint32_t column)
{
    size_t width = strlen(ms_infer_rows_head(v, column));
    for (uint32_t i = 0; i < v->rows->rows.count; i++) {
        const char *cell = ms_infer_rows_cell(v, &v->rows->rows.items[i], column);
        if (cell && strlen(cell) > width)
            width = strlen(cell);
    }
    return width > MOST_WIDTH ? MOST_WIDTH : (uint32_t)width;
}

static void write_cell(const ms_page *p, const ms_infer_view *v, const char *cell, uint32_t column,
                       uint32_t width)
{
    fputs("  ", p->out);
    if (width == 0)
        ms_put_printable(p->out, cell);
    else if (ms_infer_rows_is_figure(v, column))
        fprintf(p->out, "%*s", (int)width, cell);
    else
        ms_page_cell(p, cell, width);
}

static ms_tone tone_of(const ms_infer_row *row)
{
    const char *verdict = ms_infer_row_verdict(row);
    return strcmp(verdict, "fits") == 0    ? MS_TONE_GOOD
           : strcmp(verdict, "tight") == 0 ? MS_TONE_TIGHT
                                           : MS_TONE_BAD;
}

static bool write_row(const ms_page *p, const ms_infer_view *v, const ms_infer_row *row,
                      const uint32_t *widths, uint32_t columns)
{
    for (uint32_t i = 0; i < columns; i++) {
        const char *cell = ms_infer_rows_cell(v, row, i);
        bool is_verdict = i == v->rows->field_count;
        if (!cell)
            return false;
        fputs(is_verdict ? ms_page_tone(p, tone_of(row)) : "", p->out);
        write_cell(p, v, cell, i, widths[i]);
        fputs(is_verdict ? ms_page_tone(p, MS_TONE_END) : "", p->out);
    }
    fputc('\n', p->out);
    return true;
}

bool ms_infer_rows_console(FILE *out, const ms_infer_view *v)
{
    const ms_page page = ms_page_begin(out, v->style);
    const char *title = ms_infer_title(v), *verdict = ms_infer_rows_verdict(v);
    uint32_t columns = ms_infer_rows_columns(v);
    uint32_t *widths = ms_arena_array(v->arena, uint32_t, columns);
    if (!title || !verdict || !widths)
        return false;
    ms_page_title(&page, title, ms_infer_rows_fit(v) ? MS_TONE_GOOD : MS_TONE_BAD, verdict);
    ms_page_heading(&page, "Settings", "  (GiB)");
    fputs(ms_page_tone(&page, MS_TONE_DIM), out);
    for (uint32_t i = 0; i < columns; i++) {
        widths[i] = i + 1 < columns ? width_of(v, i) : 0;
        write_cell(&page, v, ms_infer_rows_head(v, i), i, widths[i]);
    }
    fprintf(out, "%s\n", ms_page_tone(&page, MS_TONE_END));
    for (uint32_t i = 0; i < v->rows->rows.count; i++)
        if (!write_row(&page, v, &v->rows->rows.items[i], widths, columns))
            return false;
    for (uint32_t i = 0; i < v->rows->notes.count; i++)
        ms_page_note(&page, "note:", v->rows->notes.items[i]);
    return !ms_arena_has_failed(v->arena);
}

bool ms_infer_rows_markdown(FILE *out, const ms_infer_view *v)
{
    const char *title = ms_infer_title(v), *verdict = ms_infer_rows_verdict(v);
    uint32_t columns = ms_infer_rows_columns(v);
    if (!title || !verdict)
        return false;
    ms_markdown_title(out, "memscope infer", verdict, title);
    fputs("\n\n|", out);
    for (uint32_t i = 0; i < columns; i++)
        fprintf(out, " %s |", ms_infer_rows_head(v, i));
    fputs("\n|", out);
    for (uint32_t i = 0; i < columns; i++)
        fputs(ms_infer_rows_is_figure(v, i) ? "---:|" : "---|", out);
    fputc('\n', out);
    for (uint32_t i = 0; i < v->rows->rows.count; i++) {
        fputc('|', out);
        for (uint32_t k = 0; k < columns; k++) {
            const char *cell = ms_infer_rows_cell(v, &v->rows->rows.items[i], k);
            fputc(' ', out);
            ms_markdown_text(out, cell ? cell : "");
            fputs(" |", out);
        }
        fputc('\n', out);
    }
    for (uint32_t i = 0; i < v->rows->notes.count; i++)
        ms_markdown_note(out, "note", v->rows->notes.items[i]);
    return !ms_arena_has_failed(v->arena);
}
