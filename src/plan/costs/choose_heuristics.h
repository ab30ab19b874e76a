/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Simpler ways to choose an option for each layer.
 */
#ifndef MS_PLAN_COSTS_CHOOSE_HEURISTICS_H
#define MS_PLAN_COSTS_CHOOSE_HEURISTICS_H

#include "plan/costs/choose_task.h"

/* From the first layer on, and for the loss, what frees most per ms until it fits. */
ms_status ms_choose_greedy(ms_arena *arena, const ms_choose_task *task, ms_chosen *chosen,
                           ms_error *err);
/* The fastest of those that treat every layer alike. */
ms_status ms_choose_uniform(ms_arena *arena, const ms_choose_task *task, ms_chosen *chosen,
                            ms_error *err);
/* Every layer kept, the loss in one. */
ms_status ms_assignment_keep_all(ms_arena *arena, const ms_cost_model *costs,
                                 ms_assignment *assignment, ms_error *err);
/* Every layer checkpointed. */
ms_status ms_assignment_checkpoint_all(ms_arena *arena, const ms_cost_model *costs, uint32_t loss,
                                       ms_assignment *assignment, ms_error *err);

#endif
