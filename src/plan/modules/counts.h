/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The choice of checkpoints as a mixed-integer problem over groups: how many of each are
 * checkpointed, and how much all of them discard.
 */
#ifndef MS_PLAN_MODULES_COUNTS_H
#define MS_PLAN_MODULES_COUNTS_H

#include "base/limit.h"
#include "plan/modules/candidates.h"

typedef struct ms_counts_options {
    const bool *is_used; /* by row: the others are omitted, and the bound holds without them */
    uint64_t more_bytes; /* wanted by every row */
    double enough_ms;    /* stop when no plan can be better than this */
    const ms_limit *limit;
} ms_counts_options;

typedef struct ms_counts {
    bool is_proven, has_plan;
    double bound_ms; /* -INFINITY: none */
    uint32_t *parts; /* by module; given: a plan for the rows used, to the solver's tolerance */
} ms_counts;

ms_status ms_counts_plan(ms_arena *arena, const ms_candidates *candidates,
                         const ms_counts_options *options, ms_counts *counts, ms_error *err);

#endif
