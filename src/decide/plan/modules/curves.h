/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What candidates free in which time, in whole bytes, as a plan is counted.
 */
#ifndef MS_DECIDE_PLAN_MODULES_CURVES_H
#define MS_DECIDE_PLAN_MODULES_CURVES_H

#include "decide/plan/modules/candidates.h"

typedef struct ms_curve_point {
    double bytes, ms; /* whole bytes; ms are rounded so that their sums are exact */
} ms_curve_point;

/* Each curve is convex, and rises in both figures; no plan takes less than what lies on it. */
typedef struct ms_curves {
    ms_curve_point *points; /* of all candidates */
    uint32_t *first;        /* by candidate, and after the last one */
} ms_curves;

/* Sums of times below `most_ms` are exact. Allocates in the arena. */
ms_status ms_curves_make(ms_arena *arena, const ms_candidates *candidates, double most_ms,
                         ms_curves *curves);

#endif
