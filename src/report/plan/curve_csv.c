/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The curve of time over budget as CSV.
 */
#include <inttypes.h>

#include "report/kit/writer_list.h"
#include "report/plan/plan_view.h"
#include "report/view/fit_words.h"

bool ms_curve_csv(FILE *out, const ms_plan_view *view)
{
    fputs("budget_bytes,fits,verdict,verdict_reason,peak_memory_bytes,reserved_memory_bytes,device_"
          "bytes,host_bytes,"
          "step_ms,recompute_ms,exposed_copy_ms,bound_ms,gap,treat\n",
          out);
    for (uint32_t i = 0; i < view->curve->points.count; i++) {
        const ms_curve_point *p = &view->curve->points.items[i];
        const ms_step_figures *f = &p->figures;
        const double numbers[] = {f->time.step_ms, f->time.recompute_ms,
                                  ms_step_waiting_ms(&f->time), p->bound_ms, p->gap};
        const ms_fit_reason reason = ms_plan_reason(view, f);
        fprintf(out, "%" PRIu64 ",%s,%s,%s", p->budget_bytes, ms_fits_cell(reason),
                ms_fit_cell(reason), ms_fit_reason_name(reason));
        fprintf(out, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64, f->peak_bytes,
                f->reserved_bytes, f->device_bytes, f->host_bytes);
        for (size_t n = 0; n < sizeof numbers / sizeof numbers[0]; n++) {
            char text[MS_FIXED_TEXT];
            fprintf(out, ",%s", ms_fixed(numbers[n], 6, text));
        }
        fprintf(out, ",\"%s\"\n", f->treat); /* letters, digits and signs, no quote */
    }
    return true;
}
