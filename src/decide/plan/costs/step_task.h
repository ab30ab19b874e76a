/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The input of a plan for a run.
 */
#ifndef MS_DECIDE_PLAN_COSTS_STEP_TASK_H
#define MS_DECIDE_PLAN_COSTS_STEP_TASK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/deadline.h"
#include "input/config/run/run_config.h"

typedef struct ms_model_config ms_model_config;

typedef enum ms_planner {
    MS_PLANNER_MILP,    /* least time, with a bound */
    MS_PLANNER_GREEDY,  /* options that free most bytes per ms first */
    MS_PLANNER_RULES,   /* the rule engine: largest layers first, thresholds by mode */
    MS_PLANNER_UNIFORM, /* all layers alike */
    MS_PLANNER_NONE,    /* keep everything */
    MS_PLANNER_COUNT
} ms_planner;
extern const char *const ms_planner_names[]; /* by ms_planner; ends with NULL */

typedef enum ms_rules_mode {
    MS_RULES_CONSERVATIVE,
    MS_RULES_BALANCED,
    MS_RULES_AGGRESSIVE
} ms_rules_mode;

/* Bytes of the budget that a plan leaves; see decide/plan/needs/margin.h. */
typedef struct ms_plan_margin {
    uint64_t context_bytes;      /* the CUDA context's upper end, beyond the expected value */
    uint64_t communicator_bytes; /* NCCL's buffers of all communicators */
    uint32_t communicators;
} ms_plan_margin;

static inline uint64_t ms_plan_margin_bytes(const ms_plan_margin *margin)
{
    return margin->context_bytes + margin->communicator_bytes;
}

typedef struct ms_step_task {
    const ms_model_config *model;
    const ms_run_config *run; /* its budget is the plan's; its own treatments are ignored */
    ms_planner planner;
    uint32_t techniques; /* ms_technique bits */
    double gap, time_limit_s;
    double gpu_cost_per_hour;
    const char *target; /* a row of ms_targets, never NULL: "free" */
    ms_rules_mode rules_mode;
    uint64_t max_host_bytes; /* rules: bytes that may be offloaded; UINT64_MAX: no limit */
    bool is_host_half;       /* max_host_bytes is half of this host's memory, by default */
    uint32_t moved;          /* ms_allowance bits in use, because nothing fits otherwise */
    bool alone;              /* no comparison with other planners */
    bool allows_retries;     /* of the allocator; their time is the step's */
    ms_plan_margin margin;   /* of the run's budget, that the plan leaves */
    uint64_t left_bytes;     /* the margin, where it was taken from the run's budget before */
    uint64_t whole_bytes;    /* that budget; 0: nothing was taken */
    const ms_stop *stop;     /* end with the best plan found; or NULL */
} ms_step_task;

#endif
