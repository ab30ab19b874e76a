/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Selects which operators of one module to save and which to recompute: PyTorch's SACStats as JSON.
 */
#ifndef MS_DECIDE_PLAN_OPERATORS_OPERATORS_H
#define MS_DECIDE_PLAN_OPERATORS_OPERATORS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/deadline.h"
#include "base/json/value.h"

enum { MS_OPERATORS_MAX = 4096 };

/* Constraints of an operator besides the budget. */
typedef enum ms_operator_rule {
    MS_OPERATOR_FREE,
    MS_OPERATOR_SAVED,
    MS_OPERATOR_RECOMPUTED
} ms_operator_rule;

typedef struct ms_operator {
    const char *name;
    double runtime_ms;
    uint64_t memory_bytes;
    ms_operator_rule rule;
    uint32_t tied_to; /* an operator that must be treated alike, or itself */
} ms_operator;

typedef struct ms_operator_task {
    ms_operator *operators;
    uint32_t count;
} ms_operator_task;

ms_status ms_operators_read(ms_arena *arena, ms_json_value root, ms_operator_task *task,
                            ms_error *err);

typedef struct ms_operator_plan {
    bool *save;
    uint64_t total_bytes, budget_bytes, saved_bytes;
    double total_ms, recompute_ms;
    bool is_proven;
} ms_operator_plan;

/* Saves the most run time within `fraction` of all operators' memory. MS_ERR_INFEASIBLE when the
 * rules contradict each other, or operators that must be saved exceed that memory. `stop` may be
 * NULL. */
ms_status ms_operators_plan(ms_arena *arena, const ms_operator_task *task, double fraction,
                            const ms_stop *stop, ms_operator_plan *plan, ms_error *err);

#endif
