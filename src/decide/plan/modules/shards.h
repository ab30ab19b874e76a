/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Selects modules of a tree as FSDP units, so that a rank stays within a budget with the least
 * exposed communication.
 */
#ifndef MS_DECIDE_PLAN_MODULES_SHARDS_H
#define MS_DECIDE_PLAN_MODULES_SHARDS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "decide/plan/modules/checkpoints.h"
#include "decide/plan/modules/graph.h"

enum { MS_SHARDS_MAX_STATES = 4 << 20 };

typedef struct ms_shard_task {
    const ms_graph *graph;
    const bool *fixed; /* by module: exactly these are units; NULL: select */
    uint64_t budget_bytes;
    uint32_t world_size;
    double latency_ms, bytes_per_ms, time_limit_s;
    const ms_stop *stop; /* or NULL */
} ms_shard_task;

typedef struct ms_shard_plan {
    ms_plan_outcome outcome;
    bool *units; /* by module; the root always is one */
    double exposed_ms;
    uint64_t peak_bytes;
} ms_shard_plan;

/* The best of all sets of units that are not nested; among equal ones, that with the lowest peak.
 */
ms_status ms_shards_plan(ms_arena *arena, const ms_shard_task *task, ms_shard_plan *plan,
                         ms_error *err);

#endif
