/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A diff for people: at a terminal, as Markdown, and as a page with sortable tables.
 */
#include <stdlib.h>

#include "report/diff/diff_view.h"
#include "report/kit/tree/tree_writers.h"
#include "report/kit/writer_list.h"
#include "report/pictures/curves.h"
#include "report/plan/plan_view.h"
#include "report/view/fit_words.h"

enum { CHANGE_WIDTH = 8, SIZE_WIDTH = 11, LABEL_WIDTH = 32, MOST_LABEL = 72, LEAST_LABEL = 16 };
enum { VALUES_WIDTH = 19, MOST_ROWS = 12, MOST_MARKDOWN = 30 };

static const char a_title[] = "A memory comparison";

#define SIZES                                                                                      \
    {.head = "A", .before = 1, .width = SIZE_WIDTH, .is_figure = true},                            \
        {.head = "B", .before = 1, .width = SIZE_WIDTH, .is_figure = true},                        \
    {                                                                                              \
        .head = "change", .before = 2, .width = SIZE_WIDTH, .is_figure = true                      \
    }

static void add_sizes(ms_tree *tree, ms_tree_table *table, uint64_t a_bytes, uint64_t b_bytes)
{
    ms_cell change = ms_cell_change(MS_CELL_CHANGE, a_bytes, b_bytes);
    change.has_tone = a_bytes != b_bytes;
    change.tone = b_bytes > a_bytes ? MS_TONE_BAD : MS_TONE_GOOD;
    ms_tree_cell(tree, table, ms_cell_bytes(a_bytes));
    ms_tree_cell(tree, table, ms_cell_bytes(b_bytes));
    ms_tree_cell(tree, table, change);
}

/* ---- the two reports ---- */

static const ms_report *report_of(const ms_diff_view *v, int side)
{
    return side ? v->diff->b : v->diff->a;
}

static const char *name_of(const ms_diff_view *v, int side)
{
    return side ? v->b_name : v->a_name;
}

static void add_names(ms_tree *tree, const ms_diff_view *v)
{
    for (int side = 0; side < 2; side++) {
        const ms_report *r = report_of(v, side);
        char verdict[MS_DIFF_VERDICT_TEXT];
        const char *said = r->has_reason ? ms_diff_verdict(r, verdict) : "";
        ms_tree_line(tree, MS_OFF_PAGE,
                     ms_tree_text(tree, "%s: %s%s%s", side ? "B" : "A", name_of(v, side),
                                  *said ? ": " : "", said));
    }
}

static void add_notes(ms_tree *tree, unsigned where, const ms_diff_view *v)
{
    static const char *const labels[] = {"note on A:", "note on B:"};
    static const char *const capital[] = {"Note on A:", "Note on B:"};
    for (int side = 0; side < 2; side++)
        if (ms_diff_note(v, side)) {
            ms_tree_note(tree, where & MS_ON_CONSOLE, labels[side], ms_diff_note(v, side));
            ms_tree_note(tree, where & MS_OFF_CONSOLE, capital[side], ms_diff_note(v, side));
        }
}

static void add_names_page(ms_tree *tree, const ms_diff_view *v)
{
    static const ms_tree_column columns[] = {{.head = ""},
                                             {.head = "report"},
                                             {.head = "fits"},
                                             {.head = "peak in"},
                                             {.head = "step (ms)", .is_figure = true}};
    ms_tree_table *table = ms_tree_begin_table(tree, MS_ON_PAGE, "The two reports", columns,
                                               sizeof columns / sizeof columns[0]);
    for (int side = 0; side < 2; side++) {
        const ms_report *r = report_of(v, side);
        char verdict[MS_DIFF_VERDICT_TEXT];
        ms_tree_cell(tree, table, ms_cell_text(side ? "B" : "A"));
        ms_tree_cell(tree, table, ms_cell_text(name_of(v, side)));
        ms_tree_cell(tree, table, ms_cell_text(ms_diff_verdict(r, verdict)));
        ms_tree_cell(tree, table, ms_cell_text(r->peak_phase));
        ms_tree_cell(tree, table, ms_cell_number(r->step_ms, 1));
    }
}

/* ---- figures ---- */

static void add_figures(ms_tree *tree, unsigned where, const ms_diff_view *v)
{
    static const ms_tree_column texts[] = {
        {.head = "", .before = 2, .width = LABEL_WIDTH, .is_flexible = true, .cut = MS_CUT_NAME},
        SIZES};
    static const ms_tree_column of_page[] = {{.head = "figure"}, SIZES};
    const ms_report *a = v->diff->a, *b = v->diff->b;
    const bool is_page = where == MS_ON_PAGE;
    ms_tree_table *table =
        ms_tree_begin_table(tree, where, "Side by side", is_page ? of_page : texts, 4);
    if (table)
        table->is_fixed = true;
    for (uint32_t i = 0; i < v->figure_count; i++) {
        const ms_diff_figure *f = &v->figures[i];
        if (f->a_bytes == 0 && f->b_bytes == 0)
            continue;
        ms_tree_cell(tree, table, ms_cell_text(f->title));
        add_sizes(tree, table, f->a_bytes, f->b_bytes);
    }
    if (is_page)
        return;
    ms_tree_cell(tree, table, ms_cell_text("the peak is in"));
    ms_tree_cell(tree, table, ms_cell_text(a->peak_phase));
    ms_tree_cell(tree, table, ms_cell_text(b->peak_phase));
    ms_tree_cell(tree, table, ms_cell_none());
    if (!(a->step_ms > 0) || !(b->step_ms > 0))
        return;
    ms_tree_cell(tree, table, ms_cell_text("step, ms"));
    ms_tree_cell(tree, table, ms_cell_number(a->step_ms, 1));
    ms_tree_cell(tree, table, ms_cell_number(b->step_ms, 1));
    ms_tree_cell(tree, table, ms_cell_none());
}

/* ---- settings ---- */

static void add_fields_console(ms_tree *tree, const ms_field_change *rows, uint32_t count)
{
    static const ms_tree_column columns[] = {
        {.head = "", .before = 2, .width = CHANGE_WIDTH},
        {.head = "", .width = LABEL_WIDTH, .is_flexible = true},
        {.head = "", .before = 1, .width = VALUES_WIDTH, .is_wrapped = true}};
    char values[MS_VALUES_TEXT];
    ms_tree_table *table = ms_tree_begin_table(tree, MS_ON_CONSOLE, "", columns, 3);
    if (table)
        table->is_fixed = table->has_no_head = true;
    for (uint32_t i = 0; i < count; i++) {
        ms_tree_cell(tree, table, ms_cell_text(ms_diff_kind_names[rows[i].change]));
        ms_tree_cell(tree, table, ms_cell_text(rows[i].name));
        ms_tree_cell(tree, table, ms_cell_text(ms_values_text(&rows[i], values)));
    }
}

static void add_fields_table(ms_tree *tree, unsigned where, const ms_tree_column *columns,
                             const ms_field_change *rows, uint32_t count)
{
    ms_tree_table *table = ms_tree_begin_table(tree, where, "Settings that differ", columns, 4);
    for (uint32_t i = 0; i < count; i++) {
        ms_tree_cell(tree, table, ms_cell_text(rows[i].name));
        ms_tree_cell(tree, table, ms_cell_text(ms_diff_kind_names[rows[i].change]));
        ms_tree_cell(tree, table, ms_cell_code(rows[i].a ? rows[i].a : "-"));
        ms_tree_cell(tree, table, ms_cell_code(rows[i].b ? rows[i].b : "-"));
    }
}

static void add_fields(ms_tree *tree, const char *id, const char *title,
                       const ms_field_change *rows, uint32_t count)
{
    static const ms_tree_column of_page[] = {
        {.head = "setting"}, {.head = "kind"}, {.head = "A"}, {.head = "B"}};
    ms_tree_column *columns = ms_arena_array(tree->arena, ms_tree_column, 4);
    if (count == 0 || !columns)
        return;
    for (int i = 0; i < 4; i++)
        columns[i].head = i == 0 ? title : i == 1 ? "" : of_page[i].head;
    ms_tree_section(tree, MS_ON_CONSOLE | MS_ON_PAGE, id, title, "");
    add_fields_console(tree, rows, count);
    add_fields_table(tree, MS_ON_MARKDOWN, columns, rows, count);
    add_fields_table(tree, MS_ON_PAGE, of_page, rows, count);
}

/* ---- parts ---- */

/* Names differ at their end. */
static void add_parts_console(ms_tree *tree, const ms_part_change *rows, uint32_t count)
{
    static const ms_tree_column columns[] = {{.head = "", .before = 2, .width = CHANGE_WIDTH},
                                             {.head = "",
                                              .width = MOST_LABEL,
                                              .is_flexible = true,
                                              .cut = MS_CUT_BEGINNING,
                                              .least = LEAST_LABEL},
                                             SIZES};
    ms_tree_table *table = ms_tree_begin_table(tree, MS_ON_CONSOLE, "", columns, 5);
    if (table) {
        table->is_fixed = table->has_no_head = true;
        table->most_console = MOST_ROWS;
    }
    for (uint32_t i = 0; i < count; i++) {
        const ms_part_change *row = &rows[i];
        ms_tree_cell(tree, table, ms_cell_text(ms_diff_kind_names[row->change]));
        ms_tree_cell(tree, table,
                     ms_cell_text(ms_tree_text(tree, "%.400s%s%.80s", row->name,
                                               *row->where ? ", " : "", row->where)));
        add_sizes(tree, table, row->a_bytes, row->b_bytes);
    }
}

static void add_parts_table(ms_tree *tree, unsigned where, const ms_tree_column *columns,
                            const ms_part_change *rows, uint32_t count)
{
    ms_tree_table *table = ms_tree_begin_table(tree, where, "Largest change first", columns, 5);
    if (table) {
        table->is_sortable = true;
        table->most_markdown = MOST_MARKDOWN;
    }
    for (uint32_t i = 0; i < count; i++) {
        const ms_part_change *row = &rows[i];
        ms_tree_cell(tree, table,
                     ms_cell_text(ms_tree_text(tree, "%s%s%s", row->name, *row->where ? ", " : "",
                                               row->where)));
        ms_tree_cell(tree, table, ms_cell_text(ms_diff_kind_names[row->change]));
        add_sizes(tree, table, row->a_bytes, row->b_bytes);
    }
}

static void add_parts(ms_tree *tree, const ms_diff *diff, ms_diff_table which)
{
    static const ms_tree_column of_page[] = {{.head = "part"}, {.head = "kind"}, SIZES};
    const ms_part_change *rows = diff->tables[which].items;
    const uint32_t count = diff->tables[which].count;
    ms_tree_column *columns = ms_arena_array(tree->arena, ms_tree_column, 5);
    if (count == 0 || !columns)
        return;
    for (int i = 0; i < 5; i++)
        columns[i] = of_page[i];
    columns[0].head = ms_diff_titles[which].title;
    columns[1].head = "";
    ms_tree_section(tree, MS_ON_CONSOLE | MS_ON_PAGE, ms_diff_titles[which].key,
                    ms_diff_titles[which].title, "");
    add_parts_console(tree, rows, count);
    add_parts_table(tree, MS_ON_MARKDOWN, columns, rows, count);
    add_parts_table(tree, MS_ON_PAGE, of_page, rows, count);
}

/* ---- both timelines ---- */

/* Over the share of the step's events, as two steps need not have equally many. False: out of
 * memory. */
static bool copy_curve(const ms_report *r, const char *name, ms_memory_curve *curve)
{
    uint64_t last = r->level_count ? r->levels[r->level_count - 1].event : 0;
    ms_curve_spot *spots = malloc(((size_t)r->level_count + 1) * sizeof *spots);
    for (uint32_t i = 0; spots && i < r->level_count; i++)
        spots[i] = (ms_curve_spot){100.0 * (double)r->levels[i].event / (double)(last ? last : 1),
                                   r->levels[i].bytes};
    *curve = (ms_memory_curve){name, spots, spots ? r->level_count : 0};
    return spots != NULL;
}

static bool draw_curves(FILE *out, const void *view)
{
    const ms_diff_view *v = view;
    ms_two_curves both = {.x_title = "% of the step's events",
                          .label = "Bytes over both steps; the tables below show how they differ."};
    bool ok = copy_curve(v->diff->a, "A", &both.curves[0]) &&
              copy_curve(v->diff->b, "B", &both.curves[1]);
    if (ok)
        ms_two_curves_html(out, &both);
    for (int i = 0; i < 2; i++)
        free(both.curves[i].spots);
    return ok;
}

/* ---- all of it ---- */

static void add_page_head(ms_tree *tree, const ms_diff_view *v)
{
    char why[MS_DIFF_WHY_TEXT], change[MS_CHANGE_TEXT];
    const ms_diff *diff = v->diff;
    const uint64_t a = diff->a->peak_bytes, b = diff->b->peak_bytes;
    const char *verdict = diff->is_same ? "Nothing differs."
                                        : ms_tree_text(tree, "From A to B the peak changes by %s.",
                                                       ms_change_text(a, b, change));
    ms_tree_head(tree, a_title, a_title, verdict, b <= a ? MS_VERDICT_FITS : MS_VERDICT_NO);
    tree->has_page_verdict = true;
    tree->made_from = "from the two reports alone";
    if (*ms_diff_why(v, why))
        ms_tree_note(tree, MS_ON_PAGE, ms_fit_why_label, ms_tree_text(tree, "%s", why));
    if (diff->a->level_count > 0 && diff->b->level_count > 0) {
        ms_tree_section(tree, MS_ON_PAGE, "curves", "Memory over both steps", "");
        ms_tree_picture(tree,
                        ms_tree_text(tree, "Line: A, %s. Dashed: B, %s.", v->a_name, v->b_name), v,
                        draw_curves);
    }
    ms_tree_section(tree, MS_ON_PAGE, "figures", "Peaks and figures", "");
    add_names_page(tree, v);
    add_notes(tree, MS_ON_PAGE, v);
    add_figures(tree, MS_ON_PAGE, v);
}

static ms_tree build(const ms_diff_view *v)
{
    ms_tree tree = ms_tree_begin(NULL);
    const ms_diff *diff = v->diff;
    if (!tree.arena)
        return tree;
    add_page_head(&tree, v);
    add_names(&tree, v);
    add_notes(&tree, MS_OFF_PAGE, v);
    ms_tree_gap(&tree);
    if (diff->is_same) {
        ms_tree_line(&tree, MS_ON_CONSOLE, "nothing differs");
        ms_tree_paragraph(&tree, MS_ON_MARKDOWN, "Nothing differs.");
        return tree;
    }
    add_figures(&tree, MS_OFF_PAGE, v);
    add_fields(&tree, "config", "The config", diff->config, diff->config_count);
    add_fields(&tree, "run", "The run", diff->settings, diff->settings_count);
    for (int i = 0; i < MS_DIFF_TABLES; i++)
        add_parts(&tree, diff, (ms_diff_table)i);
    return tree;
}

MS_TREE_WRITERS(ms_diff, ms_diff_view, build, &v->style)
