/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The rationale of a plan: bytes and time of each treatment, and the reason.
 */
#ifndef MS_DECIDE_PLAN_SEARCH_EXPLAIN_H
#define MS_DECIDE_PLAN_SEARCH_EXPLAIN_H

#include "decide/plan/search/step_plan.h"

/* Fills plan->decisions, most freed bytes first; `tells_time`: sentences mention times. */
ms_status ms_explain(ms_arena *arena, const ms_cost_model *costs, const ms_assignment *assignment,
                     bool tells_time, ms_step_plan *plan, ms_error *err);

#endif
