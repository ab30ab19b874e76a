/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Choosing an option for each layer of a stack: the mixed-integer problem, and simpler ways.
 */
#ifndef MS_PLAN_COSTS_CHOOSE_H
#define MS_PLAN_COSTS_CHOOSE_H

#include "plan/solver/solver.h"
#include "plan/costs/stack.h"

typedef enum ms_choose_aim {
    MS_LEAST_TIME, /* within the limit */
    MS_LEAST_PEAK  /* the lowest level, whatever it takes */
} ms_choose_aim;

enum { MS_ANY_LOSS = MS_STACK_MOST_LOSSES };

typedef struct ms_choose_task {
    const ms_stack *stack;
    ms_choose_aim aim;
    uint64_t limit_bytes;      /* of the level: treatments have no say in the fixed peak */
    uint64_t loss_limit_bytes; /* of the loss's, if that is less; the mixed-integer problem only */
    double saved_ms_per_mib;   /* what saving costs, so that of about equally fast choices the one
                                  that saves less is taken; 0: the one that sends less */
    uint32_t techniques;       /* options that need others are left out */
    uint32_t loss;             /* the only way to make it, or MS_ANY_LOSS */
    double gap, time_limit_s;
    double best_ms;      /* who has a choice already: only what takes less is of use; 0 = none */
    uint32_t nodes;      /* of the solver's search at most; then any choice will do; 0 = no limit */
    const ms_stop *stop; /* or NULL; of the mixed-integer problem */
} ms_choose_task;

typedef struct ms_chosen {
    ms_solver_outcome outcome;
    bool has_choice;
    ms_stack_choice choice; /* in the arena */
    double bound;           /* ms; least time only */
} ms_chosen;

/* Layers that are alike are chosen by counts; within them, options stand in the order that peaks
 * lowest, whatever the counts. */
ms_status ms_choose_milp(ms_arena *arena, const ms_choose_task *task, ms_chosen *chosen,
                         ms_error *err);

/* Whether it has shown, or found, that nothing takes less than the best that the task names. */
bool ms_chosen_is_no_better(const ms_choose_task *task, const ms_chosen *chosen);

/* From the first layer on, and for the loss, what frees most per ms until it fits. */
ms_status ms_choose_greedy(ms_arena *arena, const ms_choose_task *task, ms_chosen *chosen,
                           ms_error *err);

/* The fastest of those that treat every layer alike. */
ms_status ms_choose_uniform(ms_arena *arena, const ms_choose_task *task, ms_chosen *chosen,
                            ms_error *err);

/* Every layer kept, the loss in one. */
ms_status ms_choice_new(ms_arena *arena, const ms_stack *stack, ms_stack_choice *choice,
                        ms_error *err);

/* Every layer checkpointed. */
ms_status ms_choice_checkpoints(ms_arena *arena, const ms_stack *stack, uint32_t loss,
                                ms_stack_choice *choice, ms_error *err);

bool ms_loss_allowed(const ms_choose_task *task, uint32_t loss);

/* Whether an option needs no more than these techniques. */
bool ms_treatment_allowed(const ms_treatment *treatment, uint32_t techniques);

#endif
