/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A comparison as an HTML page: verdict first, then both timelines, then the tables.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "decide/compare/compare_verdict.h"
#include "report/kit/writer_list.h"
#include "report/kit/html.h"
#include "report/view/fit_words.h"
#include "report/pictures/curves.h"

/* False: out of memory. */
static bool copy_curve(const ms_recorded *r, const char *name, ms_memory_curve *curve)
{
    ms_curve_spot *spots = malloc(((size_t)r->point_count + 1) * sizeof *spots);
    for (uint32_t i = 0; spots && i < r->point_count; i++)
        spots[i] = (ms_curve_spot){(double)r->timeline[i].event, r->timeline[i].bytes};
    *curve = (ms_memory_curve){name, spots, spots ? r->point_count : 0};
    return spots != NULL;
}

static bool write_curves(FILE *out, const ms_compare_view *v)
{
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

static bool write_timelines(FILE *out, const void *view)
{
    const ms_compare_view *v = view;
    const ms_compare_parting *p = &v->parting;
    fputs("<figure>\n", out);
    bool ok = write_curves(out, v);
    fprintf(out,
            "<figcaption>Line: the first, recorded up to event %" PRIu64
            ". Dashed: the second, up to %" PRIu64 ".",
            p->first_events, p->second_events);
    if (p->has_parted)
        fprintf(out, " They diverge after event %" PRIu64 ", at %" PRIu64 " (mark).", p->same_event,
                p->event);
    else if (p->is_known)
        fprintf(out, " They do not diverge: %+" PRId64 " bytes at every event recorded in both.",
                p->from_start);
    fputs("</figcaption>\n</figure>\n", out);
    return ok;
}

static void write_bytes(FILE *out, bool is_there, uint64_t bytes)
{
    if (is_there)
        ms_html_bytes_cell(out, bytes);
    else
        fputs("<td class=\"n\">-</td>", out);
}

static void write_row(FILE *out, const ms_compare_row *row)
{
    char name[MS_ROW_TEXT], text[MS_RESIDUAL_TEXT];
    fputs("<tr><th scope=\"row\">", out);
    ms_xml_text(out, ms_compare_row_name(row, name));
    fputs("</th>", out);
    write_bytes(out, row->has_first, row->first_bytes);
    write_bytes(out, row->has_second, row->second_bytes);
    if (row->is_known)
        fprintf(out, "<td class=\"n\"><data value=\"%" PRId64 "\">%s</data></td>", row->residual,
                ms_residual_text(row->residual, text));
    else
        fputs("<td class=\"n\">-</td>", out);
    ms_html_number_cell(out, 100 * row->of_peak, 2);
    ms_html_number_cell(out, 100 * row->of_residual, 2);
    fputs("</tr>\n", out);
}

static bool write_tables(FILE *out, const void *view)
{
    const ms_compare_view *v = view;
    for (int t = 0; t < MS_COMPARE_TABLES; t++) {
        const ms_compare_rows *rows = &v->tables[t];
        if (rows->count == 0)
            continue;
        ms_html_table(out, "", ms_compare_titles[t].title,
                      "|#first|#second|#difference|#% of the first peak|#% of the difference");
        for (uint32_t i = 0; i < rows->count; i++)
            write_row(out, &rows->items[i]);
        ms_html_end_table(out);
    }
    return true;
}

static void write_side(FILE *out, const char *name, const ms_recorded *r)
{
    fprintf(out, "<tr><th scope=\"row\">%s</th>", name);
    ms_html_cell(out, r->path);
    ms_html_cell(out, ms_compare_mode(r));
    ms_html_cell(out, r->device ? r->device : "");
    ms_html_cell(out, r->torch ? r->torch : "");
    fputs("</tr>\n", out);
}

static bool write_sides(FILE *out, const void *view)
{
    const ms_compare_view *v = view;
    ms_html_table(out, "", "Both reports", "|report|kind|device|torch");
    write_side(out, "first", v->first);
    write_side(out, "second", v->second);
    ms_html_end_table(out);
    return true;
}

static const struct section {
    const char *id, *title;
    bool (*write)(FILE *out, const void *view);
} sections[] = {{"timelines", "Memory over both steps", write_timelines},
                {"tables", "What differs", write_tables},
                {"reports", "The reports", write_sides}};
enum { SECTIONS = sizeof sections / sizeof sections[0] };

static bool write_section(FILE *out, const void *view, size_t index)
{
    return sections[index].write(out, view);
}

bool ms_compare_html(FILE *out, const ms_compare_view *v)
{
    const ms_html_head head = {.title = "Two steps side by side",
                               .verdict = v->verdict,
                               .tone = v->is_near ? MS_VERDICT_FITS : MS_VERDICT_NO};
    bool has_timelines = v->first->point_count > 0 && v->second->point_count > 0;
    ms_html_link links[SECTIONS];
    for (size_t i = 0; i < SECTIONS; i++)
        links[i] = (ms_html_link){sections[i].id, sections[i].title, i == 0 && !has_timelines};
    ms_html_begin(out, &head);
    if (*v->why)
        ms_html_note(out, ms_fit_why_label, v->why);
    for (uint32_t i = 0; i < v->note_count; i++)
        ms_html_paragraph(out, "note", v->notes[i]);
    return ms_html_finish(out, links, SECTIONS, "from the two reports alone", v, write_section);
}
