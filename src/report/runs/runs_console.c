/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A table of runs for people: at a terminal, and as Markdown.
 */
#include "report/kit/markdown.h"
#include "report/kit/text_table.h"
#include "report/kit/writer_list.h"
#include "report/runs/runs_verdict.h"
#include "report/runs/runs_view.h"

enum { PLAN_WIDTH = 28 };

static const char *head(const void *view, uint32_t column)
{
    return ms_runs_head(view, column);
}

static const char *cell(const void *view, uint32_t row, uint32_t column)
{
    const ms_runs_view *v = view;
    return ms_runs_cell(v, &v->rows[row], column);
}

static bool is_figure(const void *view, uint32_t column)
{
    return ms_runs_is_figure(view, column);
}

/* The last such first. */
static uint32_t goes(const void *view, uint32_t column)
{
    return ms_runs_may_go(view, column) ? column : 0;
}

static ms_text_table table_of(const ms_runs_view *v)
{
    return (ms_text_table){.view = v,
                           .columns = ms_runs_columns(v),
                           .rows = v->count,
                           .verdict = v->field_count,
                           .head = head,
                           .cell = cell,
                           .is_figure = is_figure,
                           .goes = goes,
                           .least_last = v->question == MS_RUNS_PLAN ? PLAN_WIDTH : 0};
}

bool ms_runs_console(FILE *out, const ms_runs_view *v)
{
    const ms_page page = ms_page_begin(out, v->style);
    const ms_text_table table = table_of(v);
    const char *decision = ms_runs_decision(v), *note;
    if (!decision)
        return false;
    ms_page_title(&page, v->title, ms_runs_fit_count(v) > 0 ? MS_TONE_GOOD : MS_TONE_BAD, decision);
    ms_page_heading(&page, v->of_devices ? "Devices" : "Runs", "  (GiB)");
    if (!ms_text_table_console(&page, v->style, &table))
        return false;
    for (uint32_t i = 0; (note = ms_runs_note(v, i)) != NULL; i++) {
        fputs(i == 0 ? "\n" : "", out);
        ms_page_note(&page, "note:", note);
    }
    return !ms_arena_has_failed(v->arena);
}

bool ms_runs_markdown(FILE *out, const ms_runs_view *v)
{
    const ms_text_table table = table_of(v);
    const char *decision = ms_runs_decision(v), *note;
    if (!decision)
        return false;
    ms_markdown_title(out, "memscope", decision, v->title);
    if (!ms_text_table_markdown(out, &table))
        return false;
    for (uint32_t i = 0; (note = ms_runs_note(v, i)) != NULL; i++)
        ms_markdown_note(out, "note", note);
    return !ms_arena_has_failed(v->arena);
}
