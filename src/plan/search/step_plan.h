/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Plans for a run: how to treat each layer and the loss so that the step fits a budget for the
 * least time. What is said to fit has been simulated.
 */
#ifndef MS_PLAN_SEARCH_STEP_PLAN_H
#define MS_PLAN_SEARCH_STEP_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/limit.h"
#include "base/vec.h"
#include "config/model/model_config.h"
#include "config/run/run_config.h"
#include "simulate/judge.h"
#include "measure/profile.h"
#include "memscope/memscope.h"
#include "plan/solver/outcome.h"
#include "plan/costs/cost_model.h"
#include "plan/costs/step_task.h"

/* One way to run the step, simulated. */
typedef struct ms_step_figures {
    ms_treatments treatments;
    const char *treat;   /* the same as text; "" = keep everything */
    uint64_t peak_bytes; /* allocated, steady step */
    uint64_t reserved_bytes;
    uint64_t device_bytes, high_device_bytes; /* with the CUDA context: expected, and at most */
    uint64_t host_bytes;
    uint64_t retries;                           /* times the allocator gave cached memory back */
    uint64_t category_bytes[MS_CATEGORY_COUNT]; /* at the peak; sum to peak_bytes */
    ms_phase peak_phase;
    ms_fit_reason reason; /* why it fits the run's budget or not, allocator and context included */
    ms_step_time time;
} ms_step_figures;

/* One line of the rationale: layers that are treated alike, or the loss. */
typedef struct ms_decision {
    uint32_t first_layer, last_layer; /* both MS_NONE: the loss */
    const char *treatment;            /* "checkpoint", "offload:0.5+tile:4", "chunk:8" */
    uint64_t freed_bytes;             /* less saved at the end of forward than when kept */
    uint64_t host_bytes;
    double added_ms; /* to the step; NAN: times are not known */
    const char *why; /* one sentence */
} ms_decision;

/* A change of the run that would fit, or another planner's or target's answer; simulated. */
typedef struct ms_alternative {
    const char *name;   /* "greedy", "half the batch", "megatron" */
    const char *option; /* what to type: "--batch 4"; or exact flags, keys or code, may have several
                           lines; "" = nothing */
    bool has_figures;
    ms_step_figures figures;
} ms_alternative;

typedef ms_vec(ms_alternative) ms_vec_alternatives;

typedef struct ms_step_plan {
    ms_plan_outcome outcome;
    ms_step_figures keep_all, checkpoint_all;
    ms_step_figures plan; /* unless infeasible; then the smallest peak that can be reached; empty
                             when stopped before there was one */
    uint64_t budget_bytes;
    uint64_t least_budget_bytes; /* infeasible: the smallest for which a plan was found, context
                                    included */
    bool is_ruled_out;    /* infeasible: no mix of the options fits, whatever the allocator does */
    double bound_ms, gap; /* with an allocator that wastes nothing no mix of the options, timed
                             layer by layer, is faster; (step_ms - bound_ms) / step_ms. Where
                             nothing is treated: of that alone, as no option was tried */
    double solve_ms;      /* of everything, simulations included */
    uint32_t simulations;
    ms_vec(ms_decision) decisions;   /* most freed bytes first */
    ms_vec_alternatives compared;    /* other planners at the same budget */
    ms_vec_alternatives suggestions; /* infeasible: nearest changes that fit; else: faster */
    const char *target_text;         /* flags, keys or code for the trainer; NULL for "free" */
    double target_free_ms; /* step time of the free plan at the same budget; 0 when not asked */
    uint64_t target_free_peak_bytes; /* that plan's peak */
    uint64_t rules_estimate_bytes;   /* MS_PLANNER_RULES: its own estimate of the peak */
    double rules_estimate_overhead;
} ms_step_plan;

/* MS_ERR_INFEASIBLE when nothing fits, MS_ERR_STOPPED when the task's stop came before a proof;
 * `plan` is filled then as well. Free the plan also after a failure; texts and treatments are in
 * the arena. */
ms_status ms_step_plan_solve(ms_arena *arena, const ms_step_task *task, ms_step_plan *plan,
                             ms_error *err);
void ms_step_plan_free(ms_step_plan *plan);

/* Leaves no times in an answer that was weighed at assumed rates; its gap stays. */
void ms_step_plan_forget_times(ms_step_plan *plan);

/* ---- the curve ---- */

typedef struct ms_curve_point {
    uint64_t budget_bytes;
    ms_step_figures figures;
    double bound_ms, gap;
} ms_curve_point;

typedef struct ms_curve {
    ms_vec(ms_curve_point) points; /* ascending budgets; step_ms never rises along them */
    ms_step_figures keep_all;      /* what its times are compared with */
    double solve_ms;
} ms_curve;

#endif
