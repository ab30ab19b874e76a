/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A checkpoint plan as a mixed-integer problem: a choice for each candidate, for those rows that
 * matter. It finds plans where many candidates cost about the same for what they free.
 */
#ifndef MS_DECIDE_PLAN_MODULES_CHOICES_H
#define MS_DECIDE_PLAN_MODULES_CHOICES_H

#include "base/deadline.h"
#include "decide/plan/modules/candidates.h"

typedef struct ms_choices_options {
    const double *price; /* by candidate: of a MiB, never rising; where it falls, rows matter */
    double enough_ms;    /* stop once this time is known to be optimal */
    const ms_deadline *limit;
    double time_limit_s; /* at most so much of the limit */
} ms_choices_options;

typedef struct ms_choices {
    bool has_plan;
    double bound_ms; /* no plan takes less; -INFINITY: none is known */
    uint32_t *parts; /* by module, allocated by the caller: may lack bytes */
} ms_choices;

/* Fails only when out of memory. */
ms_status ms_choices_plan(ms_arena *arena, const ms_candidates *candidates,
                          const ms_choices_options *options, ms_choices *choices);

#endif
