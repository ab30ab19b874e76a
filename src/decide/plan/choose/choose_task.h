/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Input and result of selecting an assignment.
 */
#ifndef MS_DECIDE_PLAN_CHOOSE_CHOOSE_TASK_H
#define MS_DECIDE_PLAN_CHOOSE_CHOOSE_TASK_H

#include "decide/plan/costs/cost_model.h"
#include "decide/plan/solver/solver.h"

typedef enum ms_choose_aim {
    MS_LEAST_TIME, /* within the limit */
    MS_LEAST_PEAK  /* the lowest level, at any time cost */
} ms_choose_aim;

enum { MS_ANY_LOSS = MS_COST_MOST_LOSSES };

typedef struct ms_choose_task {
    const ms_cost_model *costs;
    ms_choose_aim aim;
    uint64_t limit_bytes;      /* of the level; treatments do not affect the fixed peak */
    uint64_t loss_limit_bytes; /* the same of the loss, if lower; mixed-integer problem only */
    double saved_ms_per_mib; /* cost of saved bytes, to prefer the assignment that saves less among
                                about equally fast ones; 0: the one that offloads less */
    uint32_t techniques;     /* allowed ones; options that need others are omitted */
    uint32_t loss;           /* the only allowed option of the loss, or MS_ANY_LOSS */
    double gap, time_limit_s;
    double best_ms;      /* time of a known assignment: only faster ones are of use; 0 = none */
    bool is_rough;       /* any good assignment will do, and the bound may be weak */
    bool has_no_queues;  /* waiting is counted as if copies queued for nothing: cost_queues.h */
    uint32_t nodes;      /* of the solver's search, at most, each time it is asked; 0 = no limit */
    const ms_stop *stop; /* or NULL; for the mixed-integer problem */
} ms_choose_task;

typedef struct ms_chosen {
    ms_solver_outcome outcome;
    bool has_assignment;
    ms_assignment assignment; /* owned by the arena */
    double bound;             /* ms; least time only */
} ms_chosen;

/* A small cost of a layer in addition to its time, in ms: for each byte that it saves, or for each
 * that it has on the host. */
double ms_choose_effort(const ms_choose_task *task, const ms_layer_cost *cost);
bool ms_loss_allowed(const ms_choose_task *task, uint32_t loss);
/* Whether these techniques suffice for a treatment. */
bool ms_treatment_allowed(const ms_treatment *treatment, uint32_t techniques);

#endif
