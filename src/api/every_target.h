/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * --target all: the plan of each trainer at the same budget.
 */
#ifndef MS_API_EVERY_TARGET_H
#define MS_API_EVERY_TARGET_H

#include "report/plan/plan_answer.h"

/* Plans for each trainer, next to the free plan of the task. A trainer that cannot fit the budget
 * is an answer; one that cannot express the run has a reason instead of a plan. MS_ERR_STOPPED:
 * later trainers are missing. Free the answers also after a failure. */
ms_status ms_every_target_solve(ms_arena *arena, const ms_step_task *task,
                                const ms_step_plan *free_plan, ms_target_answers *answers,
                                ms_error *err);
void ms_every_target_free(ms_target_answers *answers);

#endif
