/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What is to be chosen, and what was.
 */
#ifndef MS_PLAN_COSTS_CHOOSE_TASK_H
#define MS_PLAN_COSTS_CHOOSE_TASK_H

#include "plan/costs/cost_model.h"
#include "plan/solver/solver.h"

typedef enum ms_choose_aim {
    MS_LEAST_TIME, /* within the limit */
    MS_LEAST_PEAK  /* the lowest level, whatever it takes */
} ms_choose_aim;

enum { MS_ANY_LOSS = MS_COST_MOST_LOSSES };

typedef struct ms_choose_task {
    const ms_cost_model *costs;
    ms_choose_aim aim;
    uint64_t limit_bytes;      /* of the level: treatments do not affect the fixed peak */
    uint64_t loss_limit_bytes; /* of the loss's, if that is less; the mixed-integer problem only */
    double saved_ms_per_mib; /* what saving costs, so that of about equally fast assignments the one
                                that saves less is taken; 0: the one that sends less */
    uint32_t techniques;     /* options that need others are omitted */
    uint32_t loss;           /* the only way to make it, or MS_ANY_LOSS */
    double gap, time_limit_s;
    double best_ms; /* who has an assignment already: only what takes less is of use; 0 = none */
    uint32_t nodes; /* of the solver's search at most; then any assignment will do; 0 = no limit */
    const ms_stop *stop; /* or NULL; of the mixed-integer problem */
} ms_choose_task;

typedef struct ms_chosen {
    ms_solver_outcome outcome;
    bool has_assignment;
    ms_assignment assignment; /* in the arena */
    double bound;             /* ms; least time only */
} ms_chosen;

bool ms_loss_allowed(const ms_choose_task *task, uint32_t loss);
/* Whether an option needs no more than these techniques. */
bool ms_treatment_allowed(const ms_treatment *treatment, uint32_t techniques);

#endif
