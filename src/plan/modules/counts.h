/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Checkpoint planning as a mixed-integer problem over groups of equal modules: how many modules of
 * each group are checkpointed, and how much they discard together.
 */
#ifndef MS_PLAN_MODULES_COUNTS_H
#define MS_PLAN_MODULES_COUNTS_H

#include "base/limit.h"
#include "plan/modules/candidates.h"

typedef struct ms_counts_options {
    const bool *is_used; /* by row: other rows are omitted; the bound remains valid */
    uint64_t more_bytes; /* additional bytes that every row must free */
    double enough_ms;    /* stop once this time is known to be optimal */
    const ms_limit *limit;
} ms_counts_options;

typedef struct ms_counts {
    bool is_proven, has_plan;
    double bound_ms; /* -INFINITY: none */
    uint32_t *parts; /* by module, allocated by the caller: a plan for the used rows, to the
                        solver's tolerance */
} ms_counts;

ms_status ms_counts_plan(ms_arena *arena, const ms_candidates *candidates,
                         const ms_counts_options *options, ms_counts *counts, ms_error *err);

#endif
