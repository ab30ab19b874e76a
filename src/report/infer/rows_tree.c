/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A table of predictions of inference, for people.
 */
#include "report/infer/rows_tree.h"

static void add_notes(const ms_infer_view *v, ms_tree *tree, unsigned where)
{
    for (uint32_t i = 0; i < v->rows->notes.count; i++)
        ms_tree_note(tree, where, "note:", v->rows->notes.items[i]);
}

static void add_table(const ms_infer_view *v, ms_tree *tree)
{
    const uint32_t count = ms_infer_rows_columns(v);
    ms_tree_column *columns = ms_arena_array(v->arena, ms_tree_column, count);
    for (uint32_t i = 0; columns && i < count; i++)
        columns[i] = (ms_tree_column){.head = ms_infer_rows_head(v, i),
                                      .before = 2,
                                      .goes = (uint8_t)(ms_infer_rows_may_go(v, i) ? i : 0),
                                      .is_figure = ms_infer_rows_is_figure(v, i)};
    ms_tree_table *table =
        columns ? ms_tree_begin_table(tree, MS_ON_ALL, "Each setting, in GiB", columns, count)
                : NULL;
    if (table)
        table->is_sortable = true;
    for (uint32_t row = 0; row < v->rows->rows.count; row++)
        for (uint32_t i = 0; i < count; i++) {
            const char *text = ms_infer_rows_cell(v, &v->rows->rows.items[row], i);
            ms_tree_cell(tree, table,
                         i == v->rows->field_count ? ms_cell_verdict(text) : ms_cell_text(text));
        }
}

ms_tree ms_infer_rows_tree(const ms_infer_view *v)
{
    const char *title = ms_infer_title(v), *verdict = ms_infer_rows_verdict(v);
    const bool fits = ms_infer_rows_fit(v);
    ms_tree tree = ms_tree_begin(v->arena);
    ms_tree_head(&tree, "memscope infer", title, verdict, fits ? MS_VERDICT_FITS : MS_VERDICT_NO);
    ms_tree_line(&tree, MS_ON_CONSOLE, title);
    ms_tree_answer(&tree, fits ? MS_TONE_GOOD : MS_TONE_BAD, verdict);
    add_notes(v, &tree, MS_ON_PAGE);
    ms_tree_section(&tree, MS_ON_CONSOLE | MS_ON_PAGE, "settings", "Settings",
                    v->rows->has_speed ? "GiB; tokens/s: of decode, at most" : "GiB");
    add_table(v, &tree);
    add_notes(v, &tree, MS_OFF_PAGE);
    return tree;
}
