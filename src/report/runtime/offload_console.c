/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * An offload by ratio for people: what to do, then a table of what is predicted, and one of
 * what was measured.
 */
#include "base/locale.h"
#include "report/kit/tree/tree_writers.h"
#include "report/kit/writer_list.h"
#include "report/runtime/offload_view.h"
#include "report/view/fit_words.h"
#include "base/text/number.h"

static void add_tags(const ms_offload_view *v, ms_tree *tree)
{
    char total[MS_GIB_TEXT];
    for (uint32_t i = 0; i < v->tags->count; i++) {
        const ms_offload_tag *tag = &v->tags->items[i];
        char ratio[32] = "as below";
        if (tag->has_ratio)
            ms_text_print(ratio, sizeof ratio, "%g", tag->ratio);
        ms_tree_say(tree, MS_ON_ALL, "tag %s: %s GiB saved in a pass, ratio %s", tag->name,
                    ms_gib(v->rows->items[0].bytes[i].total_bytes, total), ratio);
    }
}

/* Shares of time go first, then what the host holds. */
#define COLUMNS(last)                                                                              \
    {                                                                                              \
        {"ratio", .before = 2, .width = 6, .is_figure = true},                                     \
            {"allocated", .before = 1, .width = 10, .is_figure = true},                            \
            {"reserved", .before = 1, .width = 10, .is_figure = true},                             \
            {"host", .before = 1, .width = 10, .goes = 3, .is_figure = true},                      \
            {"step", .before = 1, .width = 11, .is_figure = true, .wide_head = "step, ms"},        \
            {"waiting", .before = 1,       .width = 11,                                            \
             .goes = 1, .is_figure = true, .wide_head = "waiting, ms"},                            \
            {"link",    .before = 1,       .width = 6,                                             \
             .goes = 2, .is_figure = true, .wide_head = "link, % of the step"},                    \
            {last, .before = 2},                                                                   \
    }
enum { LAST = 7 }; /* columns before the last one */

static void add_ratio(const ms_offload_view *v, ms_tree *tree, ms_tree_table *table,
                      const ms_offload_row *row)
{
    char text[32] = "fixed";
    if (v->is_swept)
        ms_text_print(text, sizeof text, "%.4g", row->ratio);
    ms_tree_cell(tree, table, ms_cell_text(text));
}

static void add_figures(ms_tree *tree, ms_tree_table *table, const ms_offload_figures *f)
{
    const double times[] = {f->step_ms, f->exposed_ms, ms_offload_link_use(f) * 100};
    ms_tree_cell(tree, table, ms_cell_gib(f->peak_bytes));
    ms_tree_cell(tree, table, ms_cell_gib(f->reserved_bytes));
    ms_tree_cell(tree, table, ms_cell_gib(f->host_bytes));
    for (int i = 0; i < 3; i++)
        ms_tree_cell(tree, table,
                     f->has_times ? ms_cell_even(times[i], i < 2 ? 2 : 1, NULL)
                                  : ms_cell_text("-"));
}

static ms_tree_table *begin_table(ms_tree *tree, const char *id, const char *title,
                                  const ms_tree_column *columns, uint32_t count)
{
    ms_tree_section(tree, MS_ON_ALL, id, title, "GiB; ms; share of the step in %");
    return ms_tree_begin_table(tree, MS_ON_ALL, "A step for each ratio", columns, count);
}

static void add_predicted(const ms_offload_view *v, ms_tree *tree)
{
    static const ms_tree_column columns[] = COLUMNS("fits");
    const bool is_limited = v->run->budget_bytes > 0;
    ms_tree_table *table = begin_table(tree, "predicted", "Predicted", columns, LAST + is_limited);
    for (uint32_t i = 0; i < v->rows->count; i++) {
        const ms_offload_row *row = &v->rows->items[i];
        add_ratio(v, tree, table, row);
        add_figures(tree, table, &row->predicted);
        if (is_limited)
            ms_tree_cell(tree, table, ms_cell_text(ms_fit_cell(row->reason)));
    }
}

static void add_findings(const ms_offload_view *v, ms_tree *tree, uint32_t measured, uint32_t apart)
{
    if (measured == 0)
        return;
    ms_tree_gap(tree);
    ms_tree_paragraph(tree, MS_ON_ALL,
                      apart ? "for some ratios the bytes differ from the prediction"
                            : "all bytes equal the prediction");
    if (v->is_memory_only)
        ms_tree_paragraph(tree, MS_ON_ALL,
                          "memory only: allocations and releases, no operators, no copies");
    else if (v->facts->is_simulated)
        ms_tree_paragraph(tree, MS_ON_ALL, "this device runs nothing, so no times are measured");
    else if (!v->is_same_device)
        ms_tree_paragraph(
            tree, MS_ON_ALL,
            "measured times are for this device, but predicted times are for another");
}

static void add_measured(const ms_offload_view *v, ms_tree *tree)
{
    static const ms_tree_column columns[] = COLUMNS("bytes");
    ms_tree_table *table = begin_table(tree, "measured", "Measured", columns, LAST + 1);
    uint32_t apart = 0, measured = 0;
    for (uint32_t i = 0; i < v->rows->count; i++) {
        const ms_offload_row *row = &v->rows->items[i];
        add_ratio(v, tree, table, row);
        for (int k = 1; row->is_full && k < LAST; k++)
            ms_tree_cell(tree, table, ms_cell_text("-"));
        if (!row->is_full)
            add_figures(tree, table, &row->measured);
        ms_tree_cell(tree, table,
                     ms_cell_text(row->is_full              ? "full"
                                  : ms_offload_differs(row) ? "differ"
                                                            : "equal"));
        apart += !row->is_full && ms_offload_differs(row);
        measured += !row->is_full;
    }
    add_findings(v, tree, measured, apart);
}

static ms_tree build(const ms_offload_view *v)
{
    char text[MS_OFFLOAD_TEXT], total[MS_GIB_TEXT];
    const ms_offload_row *least = ms_offload_least(v);
    const bool is_open = least || v->run->budget_bytes == 0;
    ms_tree tree = ms_tree_begin(NULL);
    const char *what =
        ms_tree_text(&tree, "offloaded by ratio, predicted for %s", v->run->device->name);
    const char *decision = ms_tree_text(&tree, "%s", ms_offload_decision(v, text));
    ms_tree_head(&tree, "memscope",
                 ms_tree_text(&tree, "%s: %s", ms_offload_model(v), what ? what : ""), decision,
                 is_open ? MS_VERDICT_FITS : MS_VERDICT_NO);
    ms_tree_subject(&tree, ms_offload_model(v), what);
    if (v->backend)
        ms_tree_say(&tree, MS_ON_ALL, "measured on %s: %s, %s GiB", v->facts->title,
                    v->facts->versions, ms_gib(v->facts->total_bytes, total));
    ms_tree_gap(&tree);
    ms_tree_paragraph(&tree, MS_ON_CONSOLE, decision);
    ms_tree_say(&tree, MS_ON_ALL, "%s", ms_offload_about_link(v, text));
    if (v->status != MS_OK)
        ms_tree_note(&tree, MS_ON_ALL, "partial:", v->message ? v->message : "");
    ms_tree_gap(&tree);
    add_tags(v, &tree);
    add_predicted(v, &tree);
    if (v->backend)
        add_measured(v, &tree);
    return tree;
}

MS_TREE_WRITERS(ms_offload, struct ms_offload_view, build, v->style)
