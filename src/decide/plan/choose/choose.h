/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Selecting an option for each layer of a cost model by mixed-integer programming.
 */
#ifndef MS_DECIDE_PLAN_CHOOSE_CHOOSE_H
#define MS_DECIDE_PLAN_CHOOSE_CHOOSE_H

#include "decide/plan/choose/choose_task.h"

/* ---- choose heuristics ---- */

/* Heuristics that select an option for each layer. */

/* Greedy: applies the option that frees most bytes per ms, from the first layer on and for the
 * loss, until the assignment fits. */
ms_status ms_choose_greedy(ms_arena *arena, const ms_choose_task *task, ms_chosen *chosen,
                           ms_error *err);
/* The fastest assignment that treats all layers alike. */
ms_status ms_choose_uniform(ms_arena *arena, const ms_choose_task *task, ms_chosen *chosen,
                            ms_error *err);
/* All layers kept, the loss not chunked. */
ms_status ms_assignment_keep_all(ms_arena *arena, const ms_cost_model *costs,
                                 ms_assignment *assignment, ms_error *err);
/* All layers checkpointed. */
ms_status ms_assignment_checkpoint_all(ms_arena *arena, const ms_cost_model *costs, uint32_t loss,
                                       ms_assignment *assignment, ms_error *err);

/* Equal layers are assigned by counts; among them, options are ordered so that the peak is lowest,
 * for any counts. */
ms_status ms_choose_milp(ms_arena *arena, const ms_choose_task *task, ms_chosen *chosen,
                         ms_error *err);

/* Whether the result shows that no assignment is faster than the task's best_ms. */
bool ms_chosen_is_no_better(const ms_choose_task *task, const ms_chosen *chosen);

#endif
