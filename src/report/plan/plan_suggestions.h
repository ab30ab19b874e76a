/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MS_REPORT_PLAN_PLAN_SUGGESTIONS_H
#define MS_REPORT_PLAN_PLAN_SUGGESTIONS_H

#include "report/kit/page.h"
#include "report/plan/plan_view.h"

/* The last column: for a suggestion what to type, for another planner its plan. */
const char *ms_plan_alternative_text(const ms_alternative *alternative);

/* Such a text as the last cell behind `column` columns, shortened; on a line of its own where there
 * is little room. */
void ms_plan_treat_cell(const ms_page *page, const char *text, uint32_t column);

/* Whether they come before the plan, which does not fit, or behind what the plan says to do. */
bool ms_plan_suggestions_lead(const ms_plan_view *view);
bool ms_plan_suggestions_follow(const ms_plan_view *view);

/* What else would fit, or be faster. */
void ms_plan_suggestions_console(const ms_page *page, const ms_plan_view *view);

#endif
