/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The curve: a plan for each of several budgets.
 */
#ifndef MS_DECIDE_PLAN_SEARCH_CURVE_H
#define MS_DECIDE_PLAN_SEARCH_CURVE_H

#include "decide/plan/search/step_plan.h"

/* From the smallest budget that fits to the one that keeps everything. After MS_ERR_STOPPED the
 * curve has the points found so far. */
ms_status ms_curve_trace(ms_arena *arena, const ms_step_task *task, uint32_t point_count,
                         ms_curve *curve, ms_error *err);
void ms_curve_free(ms_curve *curve);
void ms_curve_forget_times(ms_curve *curve);

#endif
