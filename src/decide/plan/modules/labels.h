/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The best checkpoint plan by dynamic programming: of all ways to treat the first candidates, those
 * are continued that no other one frees as much as in less time, and that prices do not rule out.
 */
#ifndef MS_DECIDE_PLAN_MODULES_LABELS_H
#define MS_DECIDE_PLAN_MODULES_LABELS_H

#include "base/deadline.h"
#include "decide/plan/modules/candidates.h"

typedef struct ms_labels_options {
    const double *price;  /* by candidate: of a MiB, never rising, at least 0 */
    double below_ms;      /* only plans that take less are of interest */
    uint32_t most_pieces; /* that are continued from one candidate to the next */
    const ms_deadline *limit;
} ms_labels_options;

typedef struct ms_labels {
    bool has_plan;
    bool is_complete; /* nothing was left out: more pieces would change nothing */
    double
        bound_ms; /* no plan takes less, unless below_ms is less; -INFINITY: ended by the limit */
    uint32_t *parts; /* by module, allocated by the caller: may lack bytes due to rounding */
} ms_labels;

ms_status ms_labels_find(ms_arena *arena, const ms_candidates *candidates,
                         const ms_labels_options *options, ms_labels *labels);

#endif
