/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Plans for a run: a treatment for each layer and the loss so that the step fits a budget in the
 * least time. Every plan reported as fitting has been simulated.
 */
#ifndef MS_DECIDE_PLAN_SEARCH_STEP_PLAN_H
#define MS_DECIDE_PLAN_SEARCH_STEP_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/deadline.h"
#include "base/error.h"
#include "base/vec.h"
#include "decide/advise/candidate.h"
#include "decide/plan/costs/cost_model.h"
#include "decide/plan/costs/step_task.h"
#include "decide/plan/solver/problem.h"
#include "input/config/run/run_config.h"
#include "memscope/memscope.h"
#include "run/measure/profile.h"
#include "run/simulate/judge.h"

/* A simulated step under some treatments. */
typedef struct ms_step_figures {
    ms_treatments treatments;
    const char *treat;   /* the same as text; "" = keep everything */
    uint64_t peak_bytes; /* allocated, steady step */
    uint64_t reserved_bytes;
    uint64_t device_bytes, high_device_bytes; /* with the CUDA context: expected, and upper end */
    uint64_t host_bytes;
    uint64_t retries;                           /* times the allocator released cached memory */
    uint64_t step_retries, step_retry_bytes;    /* of those, in the steady step; bytes released */
    uint64_t category_bytes[MS_CATEGORY_COUNT]; /* at the peak; sum to peak_bytes */
    ms_phase step_peak_phase, peak_phase;       /* of the step; of the run, with its evaluation */
    ms_fit_reason reason;                       /* why it fits the run's budget or not */
    ms_step_time time;
} ms_step_figures;

/* One line of the rationale: consecutive layers with the same treatment, or the loss. */
typedef struct ms_decision {
    uint32_t first_layer, last_layer; /* both MS_NONE: the loss */
    const char *treatment;            /* "checkpoint", "offload:0.5+tile:4", "chunk:8" */
    uint64_t freed_bytes;             /* reduction of saved bytes at the end of forward */
    uint64_t host_bytes;
    double added_ms; /* to the step; NAN: times are unknown */
    const char *why; /* one sentence */
} ms_decision;

/* A change of the run that would fit, or the plan of another planner or target; simulated. */
typedef struct ms_alternative {
    const char *name;   /* "greedy", "half the batch", "deepspeed" */
    const char *option; /* option to use: "--batch 4"; or flags, keys or code, on several lines; ""
                           = none */
    bool has_figures;
    ms_step_figures figures;
    ms_advice_cost cost; /* of a change of the run; and what it changes of the result, or NULL */
    const char *changes;
} ms_alternative;

typedef ms_vec(ms_alternative) ms_vec_alternatives;

/* What a plan that fits counts on when it runs. All zero: nothing. */
typedef struct ms_plan_needs {
    double fraction;        /* of the device's memory, that PyTorch's allocator is held to; 0: it is
                               not held */
    uint64_t limit_bytes;   /* that the allocator could reserve when the plan was simulated */
    ms_step_figures unheld; /* with fraction: the plan with the device's memory, or with no limit
                               where the plan has all of that */
    double
        link_bytes_per_s; /* to the host, each way; 0: the step copies nothing, or is not timed */
    double half_link_ms;  /* step time at half of that rate */
    uint64_t more_bytes;  /* more budget that makes the step much faster; 0: not found */
    double more_ms;       /* step time with that budget */
} ms_plan_needs;

typedef struct ms_step_plan {
    ms_plan_outcome outcome;
    ms_step_figures keep_all, checkpoint_all;
    ms_step_figures plan; /* if infeasible, the one with the smallest peak; empty if stopped before
                             one was found */
    uint64_t budget_bytes;
    uint64_t held_budget_bytes;  /* the plan fits only with the allocator held to this, which is
                                    less than the budget; 0: with all of the budget */
    uint64_t least_budget_bytes; /* infeasible: the smallest with a plan, context included */
    bool is_ruled_out;           /* infeasible: no mix of options fits, for any allocator */
    bool has_gap;                /* gap is known: the planner has a bound */
    double bound_ms, gap; /* bound: no mix of the measured options is faster, by the cost model with
                             an ideal allocator; gap: (step_ms - bound_ms) / step_ms. If nothing is
                             treated, only that was measured */
    bool is_cut;          /* the time limit ended the search */
    bool is_timed_by_layer; /* the bound ignores that copies share the time of unlike neighbours */
    double solve_ms;        /* total, including simulations */
    uint32_t simulations;
    ms_vec(ms_decision) decisions;   /* most freed bytes first */
    ms_vec_alternatives compared;    /* other planners at the same budget */
    ms_vec_alternatives suggestions; /* infeasible: changes that fit; else: a faster allocator */
    const char *target_text;         /* flags, keys or code for the trainer; NULL for "free" */
    double target_free_ms; /* step time of the free plan at the same budget; 0: not computed */
    uint64_t target_free_peak_bytes; /* that plan's peak */
    ms_plan_needs needs; /* more_bytes and more_ms by solving, the rest by ms_plan_needs_find */
    uint64_t rules_estimate_bytes; /* MS_PLANNER_RULES: its own estimate of the peak */
    double rules_estimate_overhead;
} ms_step_plan;

/* MS_ERR_INFEASIBLE when nothing fits, MS_ERR_STOPPED when stopped before a proof; `plan` is filled
 * then, too. Free the plan also after a failure; texts and treatments are in the arena. */
ms_status ms_step_plan_solve(ms_arena *arena, const ms_step_task *task, ms_step_plan *plan,
                             ms_error *err);
void ms_step_plan_free(ms_step_plan *plan);

/* Removes the times of a plan that was made with assumed rates; its gap stays. */
void ms_step_plan_forget_times(ms_step_plan *plan);

/* ---- the curve ---- */

typedef struct ms_curve_point {
    uint64_t budget_bytes;
    ms_step_figures figures;
    double bound_ms, gap;
} ms_curve_point;

typedef struct ms_curve {
    ms_vec(ms_curve_point) points; /* ascending budgets; step_ms never rises along them */
    ms_step_figures keep_all;      /* reference for its times */
    double solve_ms;
} ms_curve;

#endif
