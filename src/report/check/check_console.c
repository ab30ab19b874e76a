/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A check as console text and as a page, which are one tree, and as Markdown.
 */
#include <inttypes.h>

#include "base/text/size.h"
#include "report/check/check_view.h"
#include "report/kit/writer_list.h"
#include "report/diff/diff_view.h"
#include "report/kit/markdown.h"
#include "report/kit/tree/tree_console.h"
#include "report/kit/tree/tree_html.h"

enum { MOST_DETAILS = 50, OUTCOME_WIDTH = 8, SIZE_WIDTH = 11, LEAST_NAME = 12 };

/* "-" for what is not there. */
static const char *size_text(uint64_t bytes, bool known, char text[MS_SIZE_TEXT_BYTES])
{
    return known ? ms_size_format(bytes, text, MS_SIZE_TEXT_BYTES) : "-";
}

static const char *left_text(const ms_verdict *v, char text[MS_CHANGE_TEXT])
{
    if (v->outcome == MS_OUTCOME_FAILED || v->limit_bytes == 0)
        return "-";
    return ms_change_text(v->used_bytes, v->limit_bytes, text);
}

/* ---- the tree ---- */

static ms_tone tone_of(const ms_verdict *v)
{
    return v->outcome >= MS_OUTCOME_UNKNOWN  ? MS_TONE_BAD
           : ms_is_problem(v)                ? MS_TONE_BOLD
           : v->outcome == MS_OUTCOME_PASSED ? MS_TONE_GOOD
                                             : MS_TONE_DIM;
}

static ms_cell outcome_cell(const ms_verdict *v)
{
    ms_cell cell = ms_cell_text(ms_outcome_names[v->outcome]);
    cell.has_tone = true;
    cell.tone = tone_of(v);
    return cell;
}

static ms_cell size_cell(uint64_t bytes, bool is_known)
{
    return is_known ? ms_cell_bytes(bytes) : ms_cell_text("-");
}

static void add_table(ms_tree *tree, const ms_check_view *view)
{
    static const ms_tree_column columns[] = {
        {"", .before = 2, .width = OUTCOME_WIDTH, .wide_head = "outcome"},
        {"", .is_flexible = true, .least = LEAST_NAME, .wide_head = "budget"},
        {"expected", .before = 1, .width = SIZE_WIDTH, .is_figure = true},
        {"at most", .before = 1, .width = SIZE_WIDTH, .is_figure = true},
        {"limit", .before = 1, .width = SIZE_WIDTH, .is_figure = true},
        {"left", .before = 1, .width = SIZE_WIDTH, .is_figure = true}};
    ms_tree_section(tree, MS_ON_PAGE, "budgets", "Budgets", "");
    ms_tree_table *table = ms_tree_begin_table(tree, MS_ON_ALL, "Each budget, the worst first",
                                               columns, sizeof columns / sizeof columns[0]);
    if (table) {
        table->is_fixed = true;
        table->row_head = 1;
    }
    for (uint32_t i = 0; i < view->count; i++) {
        const ms_verdict *v = view->rows[i].verdict;
        const bool is_known = v->outcome != MS_OUTCOME_FAILED;
        const bool has_limit = is_known && v->limit_bytes;
        ms_tree_cell(tree, table, outcome_cell(v));
        ms_tree_cell(tree, table, ms_cell_text(v->budget->name));
        ms_tree_cell(tree, table, size_cell(v->expected_bytes, is_known));
        ms_tree_cell(tree, table, size_cell(v->upper_bytes, is_known));
        ms_tree_cell(tree, table, size_cell(v->limit_bytes, has_limit));
        ms_tree_cell(tree, table,
                     has_limit ? ms_cell_change(MS_CELL_CHANGE, v->used_bytes, v->limit_bytes)
                               : ms_cell_text("-"));
    }
}

static void add_places(ms_tree *tree, const ms_field_change *rows, const ms_error *const *places,
                       uint32_t count)
{
    char values[MS_VALUES_TEXT];
    for (uint32_t i = 0; places && i < count; i++)
        if (places[i])
            ms_tree_verbatim(tree, MS_ON_ALL,
                             ms_tree_text(tree, "    %s:%" PRIu32 ":%" PRIu32 ": %s %s",
                                          places[i]->file, places[i]->line, places[i]->column,
                                          rows[i].name, ms_values_text(&rows[i], values)));
}

static void add_place(ms_tree *tree, const ms_error *place)
{
    ms_tree_verbatim(tree, MS_ON_ALL,
                     ms_tree_text(tree, "  %s:%" PRIu32 ":%" PRIu32 ":%s%s", place->file,
                                  place->line, place->column, *place->pointer ? " " : "",
                                  place->pointer));
}

static void add_detail(ms_tree *tree, const ms_check_row *r, uint32_t index)
{
    const ms_verdict *v = r->verdict;
    ms_tree_section(tree, MS_ON_ALL, ms_tree_text(tree, "budget-%" PRIu32, index), v->budget->name,
                    "");
    if (v->outcome == MS_OUTCOME_FAILED)
        add_place(tree, ms_check_place(v));
    ms_tree_paragraph(tree, MS_ON_ALL, r->text);
    for (uint32_t i = 0; i < r->other_count; i++) {
        add_place(tree, &r->others[i]);
        ms_tree_paragraph(tree, MS_ON_ALL, r->others[i].text);
    }
    if (*r->changes)
        ms_tree_paragraph(tree, MS_ON_ALL, r->changes);
    add_places(tree, v->diff.config, v->config_places, v->diff.config_count);
    add_places(tree, v->diff.settings, v->setting_places, v->diff.settings_count);
    if (*r->fix)
        ms_tree_paragraph(tree, MS_ON_ALL, r->fix);
}

static ms_fit_verdict tone_of_all(const ms_check_view *view)
{
    const uint32_t *n = view->counts;
    const bool is_bad = n[MS_OUTCOME_UNKNOWN] || n[MS_OUTCOME_OVER] || n[MS_OUTCOME_FAILED];
    return is_bad ? MS_VERDICT_NO : n[MS_OUTCOME_WARNED] ? MS_VERDICT_TIGHT : MS_VERDICT_FITS;
}

static ms_tree build(const ms_check_view *view)
{
    ms_tree tree = ms_tree_begin(NULL);
    ms_tree_head(&tree, "memscope", view->path, view->title, tone_of_all(view));
    ms_tree_line(&tree, MS_ON_CONSOLE, view->title);
    ms_tree_gap(&tree);
    add_table(&tree, view);
    for (uint32_t i = 0; i < view->count; i++)
        if (ms_check_is_known(view->rows[i].verdict))
            add_detail(&tree, &view->rows[i], i + 1);
    return tree;
}

bool ms_check_console(FILE *out, const ms_check_view *view)
{
    ms_tree tree = build(view);
    return ms_tree_console(&tree, out, &view->style);
}

bool ms_check_html(FILE *out, const ms_check_view *view)
{
    ms_tree tree = build(view);
    return ms_tree_html(&tree, out);
}

bool ms_check_human(FILE *out, const ms_check_view *view)
{
    return ms_check_console(out, view);
}

/* ---- Markdown ---- */

static void markdown_row(FILE *out, const ms_verdict *v)
{
    char expected[MS_SIZE_TEXT_BYTES], upper[MS_SIZE_TEXT_BYTES], limit[MS_SIZE_TEXT_BYTES];
    char left[MS_CHANGE_TEXT];
    bool known = v->outcome != MS_OUTCOME_FAILED;
    fprintf(out, "| %s%s%s | ", ms_is_problem(v) ? "**" : "", ms_outcome_names[v->outcome],
            ms_is_problem(v) ? "**" : "");
    ms_markdown_text(out, v->budget->name);
    fprintf(out, " | %s | %s | %s | %s |\n", size_text(v->expected_bytes, known, expected),
            size_text(v->upper_bytes, known, upper),
            size_text(v->limit_bytes, known && v->limit_bytes, limit), left_text(v, left));
}

static void markdown_others(FILE *out, const ms_check_view *view, const ms_check_row *r)
{
    for (uint32_t i = 0; i < r->other_count; i++) {
        const ms_error *other = &r->others[i];
        fputs("\n- ", out);
        ms_markdown_text(out, ms_check_file(view, other));
        fprintf(out, ":%" PRIu32 ": ", other->line);
        ms_markdown_text(out, other->pointer);
        fputs(*other->pointer ? ": " : "", out);
        ms_markdown_text(out, other->text);
    }
    if (r->other_count)
        fputc('\n', out);
}

/* A job's summary holds 1 MiB and a comment 64 KiB, so only the worst are reported in full. */
bool ms_check_markdown(FILE *out, const ms_check_view *view)
{
    fprintf(out,
            "<!-- memscope-check -->\n### Memory: %s\n\n"
            "| | budget | expected | at most | limit | left |\n|---|---|---:|---:|---:|---:|\n",
            view->title);
    for (uint32_t i = 0; i < view->count; i++)
        markdown_row(out, view->rows[i].verdict);
    for (uint32_t i = 0, shown = 0; i < view->count && shown < MOST_DETAILS; i++) {
        const ms_check_row *r = &view->rows[i];
        const ms_error *place = ms_check_place(r->verdict);
        if (!ms_check_is_known(r->verdict))
            continue;
        shown++;
        fputs("\n**", out);
        ms_markdown_text(out, r->verdict->budget->name);
        fputs("** (", out);
        ms_markdown_text(out, ms_check_file(view, place));
        fprintf(out, ":%" PRIu32 "): ", place->line);
        ms_markdown_text(out, r->message);
        fputc('\n', out);
        markdown_others(out, view, r);
    }
    return true;
}
