/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Heuristics that select an option for each layer.
 */
#ifndef MS_DECIDE_PLAN_CHOOSE_CHOOSE_HEURISTICS_H
#define MS_DECIDE_PLAN_CHOOSE_CHOOSE_HEURISTICS_H

#include "decide/plan/choose/choose_task.h"

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

#endif
