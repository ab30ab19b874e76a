/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Local search from an assignment: what counting layers cannot see, their order.
 */
#ifndef MS_DECIDE_PLAN_CHOOSE_IMPROVE_H
#define MS_DECIDE_PLAN_CHOOSE_IMPROVE_H

#include "decide/plan/choose/cost_problem.h"

/* Time, and the task's small cost for what is saved or on the host; INFINITY: beyond the limits, or
 * more than `most`. */
double ms_assignment_cost(const ms_choose_task *task, const ms_assignment *assignment, double most);

/* Makes the assignment cheaper: spreads the options of a segment, gives layers other options of the
 * problem, swaps two layers. At most `evaluations` sums; the same for the
 * same `seed`. */
ms_status ms_assignment_improve(ms_arena *arena, const ms_cost_problem *p, uint32_t evaluations,
                                uint64_t seed, ms_assignment *assignment, ms_error *err);

#endif
