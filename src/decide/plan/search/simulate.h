/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Simulating the step under given treatments.
 */
#ifndef MS_DECIDE_PLAN_SEARCH_SIMULATE_H
#define MS_DECIDE_PLAN_SEARCH_SIMULATE_H

#include "decide/plan/search/search.h"
#include "decide/plan/search/step_plan.h"

/* The baselines of a plan: all layers kept, and all layers checkpointed. */
ms_status ms_search_baselines(ms_search *s);

/* Copies figures into the arena, with treatments and text. */
ms_status ms_step_figures_copy(ms_arena *arena, uint64_t num_layers, const ms_step_figures *from,
                               ms_step_figures *to, ms_error *err);
/* Simulates the step with these treatments under the run's budget. */
ms_status ms_step_plan_simulate(ms_arena *arena, const ms_model_config *model,
                                const ms_run_config *run, const ms_treatments *treatments,
                                ms_step_figures *figures, ms_error *err);
/* Simulates the step for the summary of an analysis, without its records. */
ms_status ms_step_plan_summarize(const ms_model_config *model, const ms_run_config *run,
                                 ms_summary *summary, ms_error *err);

/* Judges figures that fit a smaller budget, and were simulated without a retry, by this one: only
 * whether the upper end is within it may differ. True: it was enough; otherwise they have to be
 * simulated with it. */
bool ms_step_figures_judge(ms_step_figures *figures, uint64_t budget_bytes);

/* Whether it is a plan for the task's run: it fits, leaves the margin, and returns no cached memory
 * unless that is allowed. */
bool ms_step_plan_accepts(const ms_step_task *task, const ms_step_figures *figures);
/* Sets the outcome of a plan that was found: optimal where its gap is within the task's. */
void ms_step_plan_claim(const ms_step_task *task, ms_step_plan *plan);

#endif
