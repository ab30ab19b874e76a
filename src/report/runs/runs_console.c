/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A table of runs for people.
 */
#include "report/kit/tree/tree_writers.h"
#include "report/kit/writer_list.h"
#include "report/runs/runs_verdict.h"
#include "report/runs/runs_view.h"

enum { PLAN_WIDTH = 28 };

/* NULL: out of memory. Of the columns that may go, the last such goes first. */
static const ms_tree_column *columns_of(const ms_runs_view *v)
{
    const uint32_t count = ms_runs_columns(v);
    ms_tree_column *columns = ms_arena_array(v->arena, ms_tree_column, count);
    for (uint32_t i = 0; columns && i < count; i++)
        columns[i] = (ms_tree_column){.head = ms_runs_head(v, i),
                                      .before = 2,
                                      .goes = (uint8_t)(ms_runs_may_go(v, i) ? i : 0),
                                      .is_figure = ms_runs_is_figure(v, i)};
    return columns;
}

static void add_table(const ms_runs_view *v, ms_tree *tree)
{
    const ms_tree_column *columns = columns_of(v);
    const uint32_t count = ms_runs_columns(v);
    if (!columns)
        return;
    ms_tree_table *table =
        ms_tree_begin_table(tree, MS_ON_ALL, "Each run; bytes in GiB", columns, count);
    if (table) {
        table->is_sortable = true;
        table->least_last = v->question == MS_RUNS_PLAN ? PLAN_WIDTH : 0;
    }
    for (uint32_t row = 0; row < v->count; row++)
        for (uint32_t i = 0; i < count; i++) {
            const char *text = ms_runs_cell(v, &v->rows[row], i);
            ms_tree_cell(tree, table,
                         i == v->field_count ? ms_cell_verdict(text) : ms_cell_text(text));
        }
}

static ms_tree build(const ms_runs_view *v)
{
    const char *decision = ms_runs_decision(v), *note;
    const bool fits = ms_runs_fit_count(v) > 0;
    ms_tree tree = ms_tree_begin(v->arena);
    ms_tree_head(&tree, "memscope", v->title, decision, fits ? MS_VERDICT_FITS : MS_VERDICT_NO);
    ms_tree_line(&tree, MS_ON_CONSOLE, v->title);
    ms_tree_answer(&tree, fits ? MS_TONE_GOOD : MS_TONE_BAD, decision);
    ms_tree_section(&tree, MS_ON_CONSOLE | MS_ON_PAGE, "runs", v->of_devices ? "Devices" : "Runs",
                    "GiB");
    add_table(v, &tree);
    for (uint32_t i = 0; (note = ms_runs_note(v, i)) != NULL; i++) {
        if (i == 0)
            ms_tree_gap(&tree);
        ms_tree_note(&tree, MS_ON_ALL, "note:", note);
    }
    return tree;
}

MS_TREE_WRITERS(ms_runs, ms_runs_view, build, v->style)
