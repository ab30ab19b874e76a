/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A diff as an HTML page: the sections of the console view, with sortable tables.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "report/kit/writer_list.h"
#include "report/diff/diff_view.h"
#include "report/kit/html.h"
#include "report/pictures/curves.h"
#include "report/view/fit_words.h"
#include "report/plan/plan_view.h"
#include "report/kit/draw.h"

/* ---- cells ---- */

static void change_cell(FILE *out, uint64_t a_bytes, uint64_t b_bytes)
{
    char change[MS_CHANGE_TEXT];
    bool less = b_bytes < a_bytes;
    fprintf(out, "<td class=\"n\"><data value=\"%s%" PRIu64 "\">%s</data></td>", less ? "-" : "",
            less ? a_bytes - b_bytes : b_bytes - a_bytes, ms_change_text(a_bytes, b_bytes, change));
}

static void row_head(FILE *out, const char *text, const char *where)
{
    fputs("<tr><th scope=\"row\">", out);
    ms_xml_text(out, text);
    fputs(*where ? ", " : "", out);
    ms_xml_text(out, where);
    fputs("</th>", out);
}

static void size_cells(FILE *out, uint64_t a_bytes, uint64_t b_bytes)
{
    ms_html_bytes_cell(out, a_bytes);
    ms_html_bytes_cell(out, b_bytes);
    change_cell(out, a_bytes, b_bytes);
    fputs("</tr>\n", out);
}

/* ---- sections ---- */

static void write_names(FILE *out, const ms_diff_view *v)
{
    const ms_report *a = v->diff->a, *b = v->diff->b;
    char verdict[MS_DIFF_VERDICT_TEXT];
    ms_html_table(out, "", "The two reports", "|report|fits|peak in|#step (ms)");
    const struct {
        const char *label, *name;
        const ms_report *report;
    } rows[] = {{"A", v->a_name, a}, {"B", v->b_name, b}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        row_head(out, rows[i].label, "");
        ms_html_cell(out, rows[i].name);
        ms_html_cell(out, ms_diff_verdict(rows[i].report, verdict));
        ms_html_cell(out, rows[i].report->peak_phase);
        ms_html_number_cell(out, rows[i].report->step_ms, 1);
        fputs("</tr>\n", out);
    }
    ms_html_end_table(out);
}

static void write_figures(FILE *out, const ms_diff_view *v)
{
    write_names(out, v);
    for (int side = 0; side < 2; side++)
        if (ms_diff_note(v, side))
            ms_html_note(out, side ? "Note on B:" : "Note on A:", ms_diff_note(v, side));
    ms_html_table(out, "", "Side by side", "figure|#A|#B|#change");
    for (uint32_t i = 0; i < v->figure_count; i++) {
        const ms_diff_figure *f = &v->figures[i];
        if (f->a_bytes == 0 && f->b_bytes == 0)
            continue;
        row_head(out, f->title, "");
        size_cells(out, f->a_bytes, f->b_bytes);
    }
    ms_html_end_table(out);
}

static void write_fields(FILE *out, const ms_field_change *rows, uint32_t count)
{
    ms_html_table(out, "", "Settings that differ", "setting|kind|A|B");
    for (uint32_t i = 0; i < count; i++) {
        row_head(out, rows[i].name, "");
        ms_html_cell(out, ms_diff_kind_names[rows[i].change]);
        ms_html_code_cell(out, rows[i].a ? rows[i].a : "-");
        ms_html_code_cell(out, rows[i].b ? rows[i].b : "-");
        fputs("</tr>\n", out);
    }
    ms_html_end_table(out);
}

static void write_parts(FILE *out, const ms_diff *diff, ms_diff_table table)
{
    ms_html_table(out, "sortable", "Largest change first", "part|kind|#A|#B|#change");
    for (uint32_t i = 0; i < diff->tables[table].count; i++) {
        const ms_part_change *row = &diff->tables[table].items[i];
        row_head(out, row->name, row->where);
        ms_html_cell(out, ms_diff_kind_names[row->change]);
        size_cells(out, row->a_bytes, row->b_bytes);
    }
    ms_html_end_table(out);
}

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

static bool has_curves(const ms_diff_view *v)
{
    return v->diff->a->level_count > 0 && v->diff->b->level_count > 0;
}

static bool write_curves(FILE *out, const ms_diff_view *v)
{
    ms_two_curves both = {.x_title = "% of the step's events",
                          .label = "Bytes over both steps; the tables below show how they differ."};
    bool ok = copy_curve(v->diff->a, "A", &both.curves[0]) &&
              copy_curve(v->diff->b, "B", &both.curves[1]);
    fputs("<figure>\n", out);
    if (ok)
        ms_two_curves_html(out, &both);
    fputs("<figcaption>Line: A, ", out);
    ms_xml_text(out, v->a_name);
    fputs(". Dashed: B, ", out);
    ms_xml_text(out, v->b_name);
    fputs(".</figcaption>\n</figure>\n", out);
    for (int i = 0; i < 2; i++)
        free(both.curves[i].spots);
    return ok;
}

/* In this order; the tables of parts follow. */
enum { CURVES, FIGURES, CONFIG, SETTINGS, TABLES, SECTIONS = TABLES + MS_DIFF_TABLES };

static bool write_section(FILE *out, const void *view, size_t index)
{
    const ms_diff_view *v = view;
    if (index == CURVES)
        return write_curves(out, v);
    if (index == FIGURES)
        write_figures(out, v);
    else if (index == CONFIG)
        write_fields(out, v->diff->config, v->diff->config_count);
    else if (index == SETTINGS)
        write_fields(out, v->diff->settings, v->diff->settings_count);
    else
        write_parts(out, v->diff, (ms_diff_table)(index - TABLES));
    return true;
}

bool ms_diff_html(FILE *out, const ms_diff_view *v)
{
    const ms_diff *diff = v->diff;
    ms_html_link links[SECTIONS] = {
        [CURVES] = {"curves", "Memory over both steps", !has_curves(v)},
        [FIGURES] = {"figures", "Peaks and figures", false},
        [CONFIG] = {"config", "The config", diff->config_count == 0},
        [SETTINGS] = {"run", "The run", diff->settings_count == 0},
    };
    for (int i = 0; i < MS_DIFF_TABLES; i++)
        links[TABLES + i] = (ms_html_link){ms_diff_titles[i].key, ms_diff_titles[i].title,
                                           diff->tables[i].count == 0};
    char why[MS_DIFF_WHY_TEXT], verdict[160], change[MS_CHANGE_TEXT];
    uint64_t a = diff->a->peak_bytes, b = diff->b->peak_bytes;
    if (diff->is_same)
        snprintf(verdict, sizeof verdict, "Nothing differs.");
    else
        snprintf(verdict, sizeof verdict, "From A to B the peak changes by %s.",
                 ms_change_text(a, b, change));
    ms_html_begin(out, &(ms_html_head){"A memory comparison", verdict,
                                       .tone = b <= a ? MS_VERDICT_FITS : MS_VERDICT_NO});
    if (*ms_diff_why(v, why))
        ms_html_note(out, ms_fit_why_label, why);
    return ms_html_finish(out, links, SECTIONS, "from the two reports alone", v, write_section);
}
