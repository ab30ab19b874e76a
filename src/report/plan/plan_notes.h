/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * For the members of a view of these names. In its arena; NULL: out of memory.
 */
#ifndef MS_REPORT_PLAN_PLAN_NOTES_H
#define MS_REPORT_PLAN_PLAN_NOTES_H

#include "report/plan/plan_view.h"

const char *ms_plan_rates_note(const ms_plan_view *view);
const char *ms_plan_host_note(const ms_plan_view *view);
/* What is known of faster plans, wherever the optimizer and the parameters are. */
const char *ms_plan_proof_note(const ms_plan_view *view);
/* What is left of the budget, or "". */
const char *ms_plan_margin_note(const ms_plan_view *view);
/* That the evaluation between steps needs more than the step; "" where it does not. */
const char *ms_plan_evaluation_note(const ms_plan_view *view);
/* "1.00 GiB more makes the step 40 % faster (655.7 ms)"; "" where it does not. */
const char *ms_plan_steep_note(const ms_plan_view *view);

/* By how much the step would be faster with a little more memory: 0.4 for 40 %. */
double ms_plan_steep_share(const ms_plan_view *view);

#endif
