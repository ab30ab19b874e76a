/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Selects modules of a tree to checkpoint, and the fraction of each to discard, so that backward
 * stays within a budget with the least recomputation.
 */
#ifndef MS_DECIDE_PLAN_MODULES_CHECKPOINTS_H
#define MS_DECIDE_PLAN_MODULES_CHECKPOINTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/deadline.h"
#include "decide/plan/modules/graph.h"
#include "decide/plan/solver/problem.h"

/* Discarded fractions are multiples of 1 / MS_PARTS, so that printed fractions are exact. */
enum { MS_PARTS = 1000000 };

typedef struct ms_checkpoint_task {
    const ms_graph *graph;
    const bool *may;                      /* by module: may be checkpointed */
    uint64_t budget_bytes, reserve_bytes; /* reserve_bytes are included in the peak */
    uint32_t world_size;
    double gap, time_limit_s;
    const ms_stop *stop; /* or NULL */
} ms_checkpoint_task;

typedef struct ms_checkpoint_plan {
    ms_plan_outcome outcome;
    bool has_plan;
    uint32_t *parts; /* by module: discarded parts; 0 = kept */
    double recompute_ms, bound_ms, gap;
    uint64_t peak_bytes;
    uint32_t peak_module; /* the module whose backward has the peak */
    uint64_t least_bytes; /* when infeasible: the smallest peak of any plan */
} ms_checkpoint_plan;

/* The plan's peak is counted in whole bytes and never exceeds the budget. */
ms_status ms_checkpoints_plan(ms_arena *arena, const ms_checkpoint_task *task,
                              ms_checkpoint_plan *plan, ms_error *err);

#endif
