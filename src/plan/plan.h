/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A plan from its settings to its answer: the private side of memscope/plan.h.
 */
#ifndef MS_PLAN_PLAN_H
#define MS_PLAN_PLAN_H

#include "base/arena.h"
#include "memscope/plan.h"
#include "plan/checkpoints.h"
#include "plan/operators.h"
#include "plan/shards.h"

typedef struct ms_plan_settings {
    const char *ops, *graph; /* files: one of them */
    double memory_budget;    /* fraction, for ops; negative: not given */
    uint64_t budget_bytes;   /* for graph; 0: not given */
    uint64_t world_size;
    const char *ac_units, *fsdp_units; /* NULL: any, none */
    double gap, time_limit_s;
    bool fsdp; /* choose units, not checkpoints */
    double latency_ms;
    uint64_t bandwidth_bytes; /* per second */
} ms_plan_settings;

typedef enum ms_plan_kind {
    MS_PLAN_NOTHING,
    MS_PLAN_OPERATORS,
    MS_PLAN_CHECKPOINTS,
    MS_PLAN_SHARDS
} ms_plan_kind;

struct ms_plan {
    ms_arena *arena;
    ms_stop stop;
    ms_plan_settings settings;
    ms_plan_kind kind; /* what was answered */
    ms_operator_task operator_task;
    ms_operator_plan operators;
    ms_graph graph;
    ms_checkpoint_task checkpoint_task;
    ms_checkpoint_plan checkpoints;
    ms_shard_plan shards;
    double solve_ms;
    const char *note; /* or NULL */
};

#endif
