/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/plan/html_plan_curves.h"

#include <stdlib.h>

#include "report/pictures/curves.h"

/* False: out of memory. */
static bool copy_curve(const ms_view *v, const char *name, ms_memory_curve *curve)
{
    const ms_ledger *ledger = v->ledger;
    uint32_t count = ledger->timeline.count;
    ms_curve_spot *spots = malloc(((size_t)count + 1) * sizeof *spots);
    for (uint32_t i = 0; spots && i < count; i++)
        spots[i] = (ms_curve_spot){ledger->timeline.items[i].ms, ledger->timeline.items[i].bytes};
    *curve = (ms_memory_curve){name, spots, spots ? count : 0};
    return spots != NULL;
}

bool ms_plan_both_html(FILE *out, const ms_plan_view *v)
{
    bool is_timed = v->analysis->ledger->schedule.is_timed;
    ms_two_curves both = {
        .x_title = is_timed ? "predicted time of the step (ms)" : "events of the step, in 1,000",
        .label = "Memory over the step as planned and with everything kept; the bars below "
                 "compare their peaks."};
    bool ok = copy_curve(v->analysis, "as planned", &both.curves[0]) &&
              copy_curve(v->kept, "everything kept", &both.curves[1]);
    fputs("<figure>\n", out);
    if (ok)
        ms_two_curves_html(out, &both);
    fputs("<figcaption>Line: as planned. Dashed: with everything kept.</figcaption>\n</figure>\n",
          out);
    for (int i = 0; i < 2; i++)
        free(both.curves[i].spots);
    return ok;
}
