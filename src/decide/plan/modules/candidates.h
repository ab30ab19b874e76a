/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The candidates of a checkpoint plan, and the bytes they must free.
 *
 * Candidates are the modules that may be checkpointed, in the order in which forward leaves them:
 * bytes that a candidate frees help every module that forward leaves later. A row is the number of
 * bytes that the first candidates must free together. Rows implied by earlier ones are omitted, as
 * are candidates that forward leaves too late to help.
 */
#ifndef MS_DECIDE_PLAN_MODULES_CANDIDATES_H
#define MS_DECIDE_PLAN_MODULES_CANDIDATES_H

#include "base/arena.h"
#include "decide/plan/modules/checkpoints.h"
#include "decide/plan/solver/problem.h"

#define MS_NO_CANDIDATE UINT32_MAX

/* A vertex of the curve of recompute time over the discarded fraction. */
typedef struct ms_corner {
    double fraction, freed_mib, ms;
} ms_corner;

typedef struct ms_candidate {
    const ms_module *module;
    uint32_t index;           /* of the module */
    uint32_t around;          /* the innermost candidate that contains it, or MS_NO_CANDIDATE */
    const ms_corner *corners; /* by ascending fraction: from where it frees nothing to 1 */
    uint32_t corner_count;
} ms_candidate;

typedef struct ms_row {
    uint32_t before;     /* the number of candidates, the first ones, that */
    uint64_t need_bytes; /* must free these bytes */
} ms_row;

typedef struct ms_candidates {
    const ms_checkpoint_task *task;
    uint32_t *order; /* modules in the order in which forward leaves them */
    ms_candidate *items;
    uint32_t count;
    ms_row *rows; /* both members ascending */
    uint32_t row_count;
    uint64_t *most_kept; /* by module: the largest peak of its backward or of one inside it */
    uint64_t *scratch;   /* scratch space: one per module, and one more */
} ms_candidates;

/* Allocates in the arena. */
ms_status ms_candidates_prepare(ms_arena *arena, const ms_checkpoint_task *task,
                                ms_candidates *candidates);

/* Discards as much as the budget needs, as early as possible; false when no plan fits the budget.
 * `parts` is by module, here and below. */
bool ms_candidates_fit(const ms_candidates *candidates, uint64_t budget_bytes, uint32_t *parts);

/* Keeps modules that are not candidates, because they are left too late to help. */
void ms_candidates_only(const ms_candidates *candidates, uint32_t *parts);

/* The smallest budget that has a plan; `parts` is that plan. */
uint64_t ms_candidates_least(const ms_candidates *candidates, uint32_t *parts);

/* The fewest parts that free that many bytes, at most MS_PARTS. */
uint32_t ms_candidate_parts(const ms_module *module, uint64_t bytes);

/* ---- recount ---- */

/* Counts a plan in whole bytes, independently of the optimisation problem. */

/* Bytes that a module frees when `parts` of its outputs are discarded. */
uint64_t ms_checkpoint_freed_bytes(const ms_module *module, uint32_t parts);
/* Bytes at the peak of a module's backward when nothing is discarded. */
uint64_t ms_checkpoint_kept_bytes(const ms_checkpoint_task *task, uint32_t module);
/* The peak over all modules; `order` lists them in the order in which forward leaves them. */
uint64_t ms_checkpoint_peak(const ms_checkpoint_task *task, const uint32_t *order,
                            const uint32_t *parts, uint32_t *module);
/* Time to recompute the discarded parts of a module, ms. */
double ms_checkpoint_ms(const ms_module *module, uint32_t parts);

/* ---- curves ---- */

/* What candidates free in which time, in whole bytes, as a plan is counted. */

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
