/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A comparison for people: at a terminal, as Markdown, and as a page with both timelines.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/text/number.h"
#include "decide/compare/compare_verdict.h"
#include "report/kit/tree/tree_writers.h"
#include "report/kit/writer_list.h"
#include "report/pictures/curves.h"
#include "report/view/fit_words.h"

enum { MOST_MODULES = 12, MOST_ROWS = 40 }; /* at a terminal; in Markdown */

static const char a_title[] = "Two steps side by side";

/* ---- the verdict, and the reports ---- */

static void add_verdict(ms_tree *tree, const ms_compare_view *v)
{
    ms_tree_toned_line(tree, MS_ON_CONSOLE, v->is_near ? MS_TONE_GOOD : MS_TONE_BAD, v->verdict);
    if (*v->why) {
        ms_tree_paragraph(tree, MS_ON_CONSOLE, v->why);
        ms_tree_say(tree, MS_ON_MARKDOWN, "%s.", v->why);
        ms_tree_note(tree, MS_ON_PAGE, ms_fit_why_label, v->why);
    }
    for (uint32_t i = 0; i < v->note_count; i++) {
        ms_tree_paragraph(tree, MS_OFF_PAGE, v->notes[i]);
        ms_tree_note(tree, MS_ON_PAGE, "", v->notes[i]);
    }
}

/* At a terminal a sentence for each. */
static void add_sides_console(ms_tree *tree, const ms_compare_view *v)
{
    static const ms_tree_column columns[] = {{"", .before = 2, .width = 8},
                                             {"", .before = 1, .is_wrapped = true}};
    ms_tree_gap(tree);
    ms_tree_table *table = ms_tree_begin_table(tree, MS_ON_CONSOLE, "", columns, 2);
    if (table)
        table->is_fixed = table->has_no_head = true;
    for (int i = 0; i < 2; i++) {
        const ms_recorded *r = i ? v->second : v->first;
        ms_tree_cell(tree, table, ms_cell_text(i ? "second" : "first"));
        ms_tree_cell(tree, table,
                     ms_cell_text(ms_tree_text(
                         tree, "%.600s: %s%s%.160s%s%.160s", r->path, ms_compare_mode(r),
                         r->device ? ", " : "", r->device ? r->device : "",
                         r->torch ? ", torch " : "", r->torch ? r->torch : "")));
    }
}

static void add_sides(ms_tree *tree, unsigned where, const ms_compare_view *v)
{
    static const ms_tree_column columns[] = {
        {.head = ""}, {.head = "report"}, {.head = "kind"}, {.head = "device"}, {.head = "torch"}};
    ms_tree_table *table = ms_tree_begin_table(tree, where, "Both reports", columns, 5);
    for (int i = 0; i < 2; i++) {
        const ms_recorded *r = i ? v->second : v->first;
        ms_tree_cell(tree, table, ms_cell_text(i ? "second" : "first"));
        ms_tree_cell(tree, table, ms_cell_text(r->path));
        ms_tree_cell(tree, table, ms_cell_text(ms_compare_mode(r)));
        ms_tree_cell(tree, table, ms_cell_text(r->device ? r->device : ""));
        ms_tree_cell(tree, table, ms_cell_text(r->torch ? r->torch : ""));
    }
}

/* ---- tables ---- */

static ms_cell bytes_cell(bool is_there, uint64_t bytes)
{
    return is_there ? ms_cell_gib(bytes) : ms_cell_text("-");
}

static void add_row(ms_tree *tree, ms_tree_table *table, const ms_compare_row *row)
{
    char name[MS_ROW_TEXT];
    ms_tree_cell(tree, table, ms_cell_text(ms_compare_row_name(row, name)));
    ms_tree_cell(tree, table, bytes_cell(row->has_first, row->first_bytes));
    ms_tree_cell(tree, table, bytes_cell(row->has_second, row->second_bytes));
    ms_tree_cell(tree, table,
                 row->is_known ? (ms_cell){.kind = MS_CELL_SIGNED,
                                           .is_less = row->residual < 0,
                                           .count = ms_compare_size(row->residual)}
                               : ms_cell_text("-"));
    ms_tree_cell(tree, table, ms_cell_number(100 * row->of_peak, 2));
    ms_tree_cell(tree, table, ms_cell_number(100 * row->of_residual, 2));
}

static void add_table(ms_tree *tree, const ms_compare_view *v, ms_compare_table which)
{
    static const ms_tree_column columns[] = {
        {"", .before = 2, .width = 32, .is_flexible = true, .cut = MS_CUT_NAME},
        {"first", .width = 9, .is_figure = true, .unit = "GiB"},
        {"second", .width = 9, .is_figure = true, .unit = "GiB"},
        {"difference", .width = 14, .is_figure = true, .unit = "bytes"},
        {"peak", .width = 8, .is_figure = true, .wide_head = "% of the first peak"},
        {"share", .width = 8, .is_figure = true, .wide_head = "% of the difference"}};
    const ms_compare_rows *rows = &v->tables[which];
    const char *title = ms_compare_titles[which];
    if (rows->count == 0)
        return;
    ms_tree_section(tree, MS_ON_CONSOLE, "", title,
                    "GiB; bytes; % of the first peak and of the total difference");
    ms_tree_section(tree, MS_ON_MARKDOWN, "", title, "");
    ms_tree_table *table =
        ms_tree_begin_table(tree, MS_ON_ALL, title, columns, sizeof columns / sizeof columns[0]);
    if (table) {
        table->is_fixed = true;
        table->most_console = which == MS_COMPARE_MODULES ? MOST_MODULES : 0;
        table->more = ", in --format json";
        table->most_markdown = MOST_ROWS;
    }
    for (uint32_t i = 0; i < rows->count; i++)
        add_row(tree, table, &rows->items[i]);
}

/* ---- event by event ---- */

static void add_events_console(ms_tree *tree, const ms_compare_parting *p)
{
    char a[MS_GIB_TEXT], b[MS_GIB_TEXT];
    ms_tree_section(tree, MS_ON_CONSOLE, "", "Event by event", "allocations and frees of the step");
    ms_tree_say(tree, MS_ON_CONSOLE,
                "recorded up to event %" PRIu64 " of the first, %" PRIu64 " of the second",
                p->first_events, p->second_events);
    if (p->has_parted)
        ms_tree_say(tree, MS_ON_CONSOLE,
                    "they diverge after event %" PRIu64 ", at %" PRIu64
                    ", in %.80s: %s and %s GiB, %+" PRId64 " bytes",
                    p->same_event, p->event, p->phase, ms_gib(p->first_bytes, a),
                    ms_gib(p->second_bytes, b), (int64_t)(p->second_bytes - p->first_bytes));
    else
        ms_tree_say(tree, MS_ON_CONSOLE,
                    "they do not diverge: %s%" PRId64 " bytes at every event in both",
                    p->from_start > 0 ? "+" : "", p->from_start);
}

static void add_events_markdown(ms_tree *tree, const ms_compare_parting *p)
{
    ms_tree_section(tree, MS_ON_MARKDOWN, "", "Event by event", "");
    const char *up_to = ms_tree_text(tree,
                                     "Allocations and frees are recorded up to number %" PRIu64
                                     " of the first step and %" PRIu64 " of the second.",
                                     p->first_events, p->second_events);
    if (p->has_parted)
        ms_tree_say(tree, MS_ON_MARKDOWN,
                    "%s They diverge after event %" PRIu64 ", at %" PRIu64
                    ", in %s, where the first has %" PRIu64 " bytes and the second %" PRIu64 ".",
                    up_to ? up_to : "", p->same_event, p->event, p->phase, p->first_bytes,
                    p->second_bytes);
    else
        ms_tree_say(tree, MS_ON_MARKDOWN,
                    "%s They do not diverge: %+" PRId64 " bytes at every event recorded in both.",
                    up_to ? up_to : "", p->from_start);
}

/* ---- both timelines ---- */

/* False: out of memory. */
static bool copy_curve(const ms_recorded *r, const char *name, ms_memory_curve *curve)
{
    ms_curve_spot *spots = malloc(((size_t)r->point_count + 1) * sizeof *spots);
    for (uint32_t i = 0; spots && i < r->point_count; i++)
        spots[i] = (ms_curve_spot){(double)r->timeline[i].event, r->timeline[i].bytes};
    *curve = (ms_memory_curve){name, spots, spots ? r->point_count : 0};
    return spots != NULL;
}

static bool draw_curves(FILE *out, const void *view)
{
    const ms_compare_view *v = view;
    ms_two_curves both = {
        .x_title = "allocations and frees of the step",
        .label = "Bytes over the allocations and frees of both steps; the tables below show how "
                 "they differ.",
        .has_mark = v->parting.has_parted,
        .mark_x = (double)v->parting.event};
    bool ok = copy_curve(v->first, "first", &both.curves[0]) &&
              copy_curve(v->second, "second", &both.curves[1]);
    if (ok)
        ms_two_curves_html(out, &both);
    for (int i = 0; i < 2; i++)
        free(both.curves[i].spots);
    return ok;
}

static void add_curves(ms_tree *tree, const ms_compare_view *v)
{
    const ms_compare_parting *p = &v->parting;
    const char *end = "";
    if (p->has_parted)
        end = ms_tree_text(tree, " They diverge after event %" PRIu64 ", at %" PRIu64 " (mark).",
                           p->same_event, p->event);
    else if (p->is_known)
        end = ms_tree_text(
            tree, " They do not diverge: %+" PRId64 " bytes at every event recorded in both.",
            p->from_start);
    ms_tree_section(tree, MS_ON_PAGE, "timelines", "Memory over both steps", "");
    ms_tree_picture(tree,
                    ms_tree_text(tree,
                                 "Line: the first, recorded up to event %" PRIu64
                                 ". Dashed: the second, up to %" PRIu64 ".%s",
                                 p->first_events, p->second_events, end ? end : ""),
                    v, draw_curves);
}

static ms_tree build(const ms_compare_view *v)
{
    ms_tree tree = ms_tree_begin(NULL);
    ms_tree_head(&tree, a_title, a_title, v->verdict, v->is_near ? MS_VERDICT_FITS : MS_VERDICT_NO);
    tree.made_from = "from the two reports alone";
    add_verdict(&tree, v);
    add_sides_console(&tree, v);
    add_sides(&tree, MS_ON_MARKDOWN, v);
    if (v->first->point_count > 0 && v->second->point_count > 0)
        add_curves(&tree, v);
    ms_tree_section(&tree, MS_ON_PAGE, "tables", "What differs", "");
    for (int i = 0; i < MS_COMPARE_TABLES; i++)
        add_table(&tree, v, (ms_compare_table)i);
    if (v->parting.is_known) {
        add_events_console(&tree, &v->parting);
        add_events_markdown(&tree, &v->parting);
    }
    ms_tree_section(&tree, MS_ON_PAGE, "reports", "The reports", "");
    add_sides(&tree, MS_ON_PAGE, v);
    return tree;
}

MS_TREE_WRITERS(ms_compare, ms_compare_view, build, &v->second->style)
