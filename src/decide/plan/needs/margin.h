/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What a plan leaves of its budget, and what its figures are against the whole of it.
 */
#ifndef MS_DECIDE_PLAN_NEEDS_MARGIN_H
#define MS_DECIDE_PLAN_NEEDS_MARGIN_H

#include "decide/plan/search/step_plan.h"

/* The margin of a run: what its CUDA context may need beyond the expected value, and NCCL's buffers
 * of each communicator, which no figure has. Zero on the CPU. */
ms_plan_margin ms_plan_margin_of(const ms_run_config *run);

/* As ms_step_plan_solve, within the task's budget less its margin. The figures are judged by the
 * whole budget; a plan that then would not do is held to the rest (held_budget_bytes). */
ms_status ms_margin_plan_solve(ms_arena *arena, const ms_step_task *task, ms_step_plan *plan,
                               ms_error *err);

#endif
