/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Tables of a plan: other ways to run the step, each with its figures.
 */
#ifndef MS_REPORT_PLAN_PLAN_TABLES_H
#define MS_REPORT_PLAN_PLAN_TABLES_H

#include "report/kit/tree/tree.h"
#include "report/plan/plan_view.h"

/* The table of the plan beside the extremes: bytes at the peak, and times. */
void ms_plan_peak_tree(ms_tree *tree, const ms_plan_view *view);
void ms_plan_time_tree(ms_tree *tree, const ms_plan_view *view);
/* The same columns in a table of figures, on a page. */
void ms_plan_ways_tree(ms_tree *tree, const ms_plan_view *view);

void ms_plan_trainers_tree(ms_tree *tree, const ms_plan_view *view);
void ms_plan_compared_tree(ms_tree *tree, const ms_plan_view *view);
void ms_plan_suggestions_tree(ms_tree *tree, const ms_plan_view *view);
void ms_plan_points_tree(ms_tree *tree, const ms_plan_view *view); /* of a curve */

#endif
