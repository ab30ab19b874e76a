/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Choosing an option for each layer of a cost model: the mixed-integer problem, and simpler ways.
 */
#ifndef MS_PLAN_COSTS_CHOOSE_H
#define MS_PLAN_COSTS_CHOOSE_H

#include "plan/costs/choose_task.h"

/* Layers that are alike are chosen by counts; within them, options stand in the order that peaks
 * lowest, whatever the counts. */
ms_status ms_choose_milp(ms_arena *arena, const ms_choose_task *task, ms_chosen *chosen,
                         ms_error *err);

/* Whether it has shown, or found, that nothing takes less than the best that the task names. */
bool ms_chosen_is_no_better(const ms_choose_task *task, const ms_chosen *chosen);

#endif
