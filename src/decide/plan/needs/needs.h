/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What a plan counts on when it runs: a limit of the allocator, the rate of the link to the host.
 */
#ifndef MS_DECIDE_PLAN_NEEDS_NEEDS_H
#define MS_DECIDE_PLAN_NEEDS_NEEDS_H

#include "decide/plan/search/step_plan.h"

/* Adds that to plan->needs of a solved plan; nothing where no plan fits. The code of the task's
 * target, if it can, then holds the allocator to its limit. Adds to the plan's simulations and
 * solve_ms. */
ms_status ms_plan_needs_find(ms_arena *arena, const ms_step_task *task, ms_step_plan *plan,
                             ms_error *err);
/* Only the limit of the allocator, of these needs. */
ms_status ms_plan_limit_find(ms_arena *arena, const ms_step_task *task, ms_step_plan *plan,
                             ms_error *err);

/* ---- margin ---- */

/* What a plan leaves of its budget, and what its figures are against the whole of it. */

/* The margin of a run: what its CUDA context may need beyond the expected value, and NCCL's buffers
 * of each communicator, which no figure has. Zero on the CPU. */
ms_plan_margin ms_plan_margin_of(const ms_run_config *run);

/* As ms_step_plan_solve, within the task's budget less its margin. The figures are judged by the
 * whole budget; a plan that then would not do is held to the rest (held_budget_bytes). */
ms_status ms_margin_plan_solve(ms_arena *arena, const ms_step_task *task, ms_step_plan *plan,
                               ms_error *err);

#endif
