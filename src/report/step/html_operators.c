/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The table of operators, and the values that the script of the page draws from.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "json/write.h"
#include "report/step/html_report.h"
#include "report/step/json_operators.h"
#include "report/pictures/picture.h"

enum { MOST_ROWS = 1500 }; /* more than that, unrolled, would make the page slow and large */

static uint64_t weight_of(const ms_record *r)
{
    return r->peak_bytes + r->memory_bytes + r->temporary_bytes;
}

static int by_weight(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x > y ? -1 : x < y;
}

/* The smallest weight that is shown; 0 when all are. False: out of memory. */
static bool find_least(const ms_ledger *ledger, uint64_t *least)
{
    uint32_t count = ledger->records.count;
    *least = 0;
    if (count <= MOST_ROWS)
        return true;
    uint64_t *weights = malloc(count * sizeof *weights);
    if (!weights)
        return false;
    for (uint32_t i = 0; i < count; i++)
        weights[i] = weight_of(&ledger->records.items[i]);
    qsort(weights, count, sizeof *weights, by_weight);
    *least = weights[MOST_ROWS - 1];
    free(weights);
    return true;
}

static void write_row(FILE *out, const ms_view *v, const ms_record *r)
{
    fputs("<tr><th scope=\"row\">", out);
    ms_xml_text(out, ms_view_record_name(v, r));
    fputs("</th>", out);
    ms_html_cell(out, ms_category_name((ms_category)r->category));
    ms_html_cell(out, ms_phase_name((ms_phase)r->phase));
    ms_html_cell(out, ms_view_layers(v, r));
    ms_html_count_cell(out, r->count);
    ms_html_bytes_cell(out, r->peak_bytes);
    ms_html_bytes_cell(out, r->peak_saved_bytes);
    ms_html_bytes_cell(out, r->memory_bytes);
    ms_html_bytes_cell(out, r->saved_bytes);
    ms_html_bytes_cell(out, r->temporary_bytes);
    bool is_timed = r->op != MS_NONE && ms_device_has_rates(v->ledger->run->device);
    ms_html_number_cell(out, is_timed ? r->time_us : NAN, 1);
    ms_html_code_cell(out, ms_view_formula(v, r));
    fputs("</tr>\n", out);
}

bool ms_html_operators(FILE *out, const ms_view *v)
{
    const ms_ledger *ledger = v->ledger;
    uint64_t least;
    uint32_t left_out = 0, shown = 0;
    if (!find_least(ledger, &least))
        return false;
    ms_html_table(
        out, "sortable",
        "Persistent tensors, then operators in the order they run; at the peak: alive "
        "then, over all executions; other columns are for one execution. Equal layers share a row",
        "name|category|phase|layers|#times|#at the peak|#saved, at the peak|#allocates|"
        "#of it saved|#temporary|#µs|formula");
    for (uint32_t i = 0; i < ledger->records.count; i++) {
        const ms_record *r = &ledger->records.items[i];
        if (weight_of(r) < least || shown == MOST_ROWS)
            left_out++;
        else
            write_row(out, v, r), shown++;
    }
    ms_html_end_table(out);
    if (left_out)
        fprintf(out,
                "<p class=\"note\">%" PRIu32
                " smaller records are left out; the CSV and JSON reports have all.</p>\n",
                left_out);
    return true;
}

static void write_points(ms_json_writer *w, const ms_ledger *ledger)
{
    ms_json_array(w, "points");
    for (uint32_t i = 0; i < ledger->timeline.count; i++) {
        const ms_timeline_point *p = &ledger->timeline.items[i];
        ms_json_object_inline(w, NULL);
        ms_json_uint(w, "event", p->event);
        ms_json_string(w, "phase", ms_phase_name((ms_phase)p->phase));
        ms_json_double(w, "ms", p->ms, 6);
        ms_json_uint(w, "bytes", p->bytes);
        ms_json_array(w, "categories");
        for (uint32_t c = 0; c < MS_CATEGORY_COUNT; c++)
            ms_json_uint(w, NULL, p->category_bytes[c]);
        ms_json_close(w);
        ms_json_close(w);
    }
    ms_json_close(w);
}

void ms_html_timeline_data(FILE *out, const ms_view *v)
{
    const ms_ledger *ledger = v->ledger;
    const ms_rectangle *f = &ms_timeline_plot;
    ms_json_writer w = {.out = out};
    fputs("<script type=\"application/json\" id=\"timeline-data\">\n", out);
    ms_json_object(&w, NULL);
    ms_json_bool(&w, "is_timed", ledger->schedule.is_timed);
    ms_json_double(&w, "end_ms", ledger->schedule.end_ms, 6);
    ms_json_uint(&w, "peak_event", ledger->peak->event - ledger->usage->steady_first_event);
    ms_json_object_inline(&w, "frame");
    ms_json_double(&w, "x", f->x, 1);
    ms_json_double(&w, "y", f->y, 1);
    ms_json_double(&w, "width", f->width, 1);
    ms_json_double(&w, "height", f->height, 1);
    ms_json_close(&w);
    ms_json_array_inline(&w, "categories");
    for (uint32_t c = 0; c < MS_CATEGORY_COUNT; c++)
        ms_json_string(&w, NULL, ms_category_name((ms_category)c));
    ms_json_close(&w);
    write_points(&w, ledger);
    ms_json_close(&w);
    fputs("\n</script>\n", out);
}
