/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Plans from figures in a file: a tree of modules (--graph), or the operators of one module
 * (--ops).
 */
#ifndef MS_DECIDE_PLAN_FILE_PLAN_H
#define MS_DECIDE_PLAN_FILE_PLAN_H

#include <stdio.h>

#include "base/arena.h"
#include "base/deadline.h"
#include "memscope/memscope.h"
#include "decide/plan/modules/checkpoints.h"
#include "decide/plan/operators/operators.h"
#include "decide/plan/settings.h"
#include "decide/plan/modules/shards.h"

typedef enum ms_plan_kind {
    MS_PLAN_NOTHING,
    MS_PLAN_OPERATORS,
    MS_PLAN_CHECKPOINTS,
    MS_PLAN_SHARDS
} ms_plan_kind;

/* Arena, settings, stop and style come from the caller; the rest is filled by ms_file_plan_solve.
 */
typedef struct ms_file_plan {
    ms_arena *arena;
    const ms_plan_settings *settings;
    const ms_stop *stop;   /* or NULL */
    const ms_style *style; /* of the console report */
    ms_plan_kind kind;     /* the kind of plan that was made */
    ms_operator_task operator_task;
    ms_operator_plan operators;
    ms_graph graph;
    ms_checkpoint_task checkpoint_task;
    ms_checkpoint_plan checkpoints;
    ms_shard_plan shards;
    double solve_ms;
    const char *note; /* or NULL */
} ms_file_plan;

/* Reads the file and plans. After MS_ERR_INFEASIBLE and MS_ERR_STOPPED the plan can be written,
 * too. */
ms_status ms_file_plan_solve(ms_file_plan *plan, ms_error *err);

#endif
