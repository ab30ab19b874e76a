/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What can be chosen when checkpoints are planned, and what must be freed by when.
 *
 * Candidates are the modules that may be checkpointed, in the order in which forward leaves them:
 * what a candidate frees helps every module that is left after it. So a row says how much the first
 * candidates together must free; rows that an earlier row implies are left out, and so are
 * candidates that are left too late to help.
 */
#ifndef MS_PLAN_MODULES_CANDIDATES_H
#define MS_PLAN_MODULES_CANDIDATES_H

#include "base/arena.h"
#include "plan/modules/checkpoints.h"

#define MS_NO_CANDIDATE UINT32_MAX
#define MS_MIB 1048576.0

/* A corner of the curve from the discarded fraction to the time of making that again. */
typedef struct ms_corner {
    double fraction, freed_mib, ms;
} ms_corner;

typedef struct ms_candidate {
    const ms_module *module;
    uint32_t index;           /* of the module */
    uint32_t around;          /* the next candidate around it, or MS_NO_CANDIDATE */
    const ms_corner *corners; /* fractions rising: from where it frees nothing to 1 */
    uint32_t corner_count;
} ms_candidate;

typedef struct ms_row {
    uint32_t before;     /* that many candidates, the first ones, */
    uint64_t need_bytes; /* must free so much */
} ms_row;

typedef struct ms_candidates {
    const ms_checkpoint_task *task;
    uint32_t *order; /* modules as forward leaves them */
    ms_candidate *items;
    uint32_t count;
    ms_row *rows; /* both rising */
    uint32_t row_count;
    uint64_t *most_kept; /* by module: at the peak of its backward or of one inside it */
    uint64_t *scratch;   /* one for each module and one more, as scratch space */
} ms_candidates;

/* Lives in the arena. */
ms_status ms_candidates_prepare(ms_arena *arena, const ms_checkpoint_task *task,
                                ms_candidates *candidates);

/* Frees as much as can be, everywhere as early as it is needed: false when no plan fits a budget.
 * `parts` is by module, here and below. */
bool ms_candidates_fit(const ms_candidates *candidates, uint64_t budget_bytes, uint32_t *parts);

/* Keeps what is left too late to help: what is not among the candidates. */
void ms_candidates_only(const ms_candidates *candidates, uint32_t *parts);

/* The smallest budget that some plan fits; `parts` is such a plan. */
uint64_t ms_candidates_least(const ms_candidates *candidates, uint32_t *parts);

/* The fewest parts that free that many bytes, at most all. */
uint32_t ms_candidate_parts(const ms_module *module, uint64_t bytes);

/* ---- adjusting a plan ---- */

#endif
