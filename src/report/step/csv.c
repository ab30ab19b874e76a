/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The operator records as comma-separated values (RFC 4180). Bytes are those of one execution,
 * except at the peak: those are of all executions that a record represents.
 */
#include <inttypes.h>

#include "base/text/csv.h"
#include "report/kit/writer_list.h"
#include "report/view/view.h"

bool ms_report_csv(FILE *out, const ms_view *view)
{
    fputs("name,category,phase,persistent,count,layers,memory_bytes,saved_bytes,temporary_bytes,"
          "flops,formula,peak_bytes,peak_saved_bytes\n",
          out);
    for (uint32_t i = 0; i < view->ledger->records.count; i++) {
        const ms_record *r = &view->ledger->records.items[i];
        ms_csv_put(out, ms_view_record_name(view, r));
        fprintf(out, ",%s,%s,%s,%" PRIu32 ",", ms_category_name((ms_category)r->category),
                ms_phase_name((ms_phase)r->phase), r->persistent ? "true" : "false", r->count);
        ms_csv_put(out, ms_view_layers(view, r));
        fprintf(out, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",", r->memory_bytes,
                r->saved_bytes, r->temporary_bytes, r->flops);
        ms_csv_put(out, ms_view_formula(view, r));
        fprintf(out, ",%" PRIu64 ",%" PRIu64 "\n", r->peak_bytes, r->peak_saved_bytes);
    }
    return true;
}
