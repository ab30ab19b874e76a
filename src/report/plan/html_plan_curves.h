/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The step as planned and with everything kept, in one picture of a page.
 */
#ifndef MS_REPORT_PLAN_HTML_PLAN_CURVES_H
#define MS_REPORT_PLAN_HTML_PLAN_CURVES_H

#include "report/plan/plan_view.h"

/* Needs both steps in detail. False: out of memory. */
bool ms_plan_both_html(FILE *out, const ms_plan_view *view);

#endif
