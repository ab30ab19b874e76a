/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Plans for a run of several ranks: of the rank that needs most.
 */
#ifndef MS_DECIDE_PLAN_RANK_PLAN_H
#define MS_DECIDE_PLAN_RANK_PLAN_H

#include "input/config/model/notes.h"
#include "decide/plan/search/step_plan.h"

/* Sets run->parallel to the rank that needs most with everything kept, with a note where ranks were
 * not compared. With one rank it does nothing. */
ms_status ms_rank_plan_begin(ms_arena *arena, const ms_model_config *model, ms_run_config *run,
                             ms_notes *notes, ms_error *err);
/* ms_step_plan_solve for the task, whose run is `run`. Where another rank needs most under the
 * plan, run->parallel has that one then, and the figures are its own; if it does not fit, a little
 * less of the budget is planned for. MS_ERR_USAGE if no plan for one rank fits the others. */
ms_status ms_rank_plan_solve(ms_arena *arena, const ms_step_task *task, ms_run_config *run,
                             ms_step_plan *plan, ms_error *err);

#endif
