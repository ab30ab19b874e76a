/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The curve of time over budget as a console table and as CSV.
 */
#include "report/plan/plan_curve.h"

#include <inttypes.h>

#include "report/view/inputs.h"
#include "report/view/fit_words.h"
#include "report/kit/page.h"
#include "report/plan/plan_suggestions.h"
#include "report/kit/writer_list.h"

/* ---- at a terminal ---- */

static void write_point(const ms_page *p, const ms_plan_view *v, const ms_curve_point *point)
{
    const ms_step_figures *f = &point->figures;
    char budget[MS_GIB_TEXT], device[MS_GIB_TEXT], peak[MS_GIB_TEXT], host[MS_GIB_TEXT];
    char ms[MS_FIXED_TEXT], percent[MS_FIXED_TEXT];
    fprintf(p->out, "  %8s%9s%9s%9s%10s%9s  %-7s", ms_gib(point->budget_bytes, budget),
            ms_gib(f->device_bytes, device), ms_gib(f->peak_bytes, peak),
            f->host_bytes ? ms_gib(f->host_bytes, host) : "-", ms_plan_ms(f->time.step_ms, 1, ms),
            ms_plan_percent(ms_plan_overhead(v, f->time.step_ms), percent),
            ms_fit_cell(ms_plan_reason(v, f)));
    ms_plan_treat_cell(p, *f->treat ? f->treat : "keep everything", 65);
}

bool ms_plan_curve_console(FILE *out, const ms_plan_view *view)
{
    const ms_page p = ms_page_begin(out, &view->answer->style);
    const ms_curve *curve = view->curve;
    char ms[MS_FIXED_TEXT];
    ms_page_title(&p, view->title, MS_TONE_GOOD, view->verdict);
    if (view->run->several_gpus.text)
        ms_page_note(&p, "note:", view->run->several_gpus.text);
    ms_page_heading(&p, "Time against memory", "  (GiB, ms; each point simulated)");
    fprintf(out, "  %s%8s%9s%9s%9s%10s%9s  fits%s\n", ms_page_tone(&p, MS_TONE_DIM), "budget",
            "device", "peak", "on host", "step", "", ms_page_tone(&p, MS_TONE_END));
    for (uint32_t i = 0; i < curve->points.count; i++)
        write_point(&p, view, &curve->points.items[i]);
    ms_page_run(&p, view->metadata, view->metadata_count);
    ms_inputs_console(&p, &view->run->keys);
    fprintf(out, "\n  %splanned by %s: %" PRIu32 " points, %s ms%s\n",
            ms_page_tone(&p, MS_TONE_DIM), ms_planner_names[view->answer->task->planner],
            curve->points.count, ms_fixed(curve->solve_ms, 0, ms), ms_page_tone(&p, MS_TONE_END));
    return true;
}

/* ---- CSV ---- */

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
