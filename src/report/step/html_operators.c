/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/step/html_operators.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "report/kit/html.h"

enum { MOST_ROWS = 1200 }; /* more than that, unrolled, would make the page slow and large */

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
    ms_html_table(out, "sortable",
                  "Persistent tensors, then operators in the order in which they run. At the peak: "
                  "bytes alive then, over all executions; the other columns are for one execution. "
                  "Equal layers share a row",
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
        fprintf(
            out,
            "<p class=\"note\">%" PRIu32
            " smaller records are left out; the CSV and JSON reports contain all of them.</p>\n",
            left_out);
    return true;
}
