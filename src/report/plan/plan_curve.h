/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The curve of time against budget at a terminal.
 */
#ifndef MS_REPORT_PLAN_PLAN_CURVE_H
#define MS_REPORT_PLAN_PLAN_CURVE_H

#include "report/plan/plan_view.h"

bool ms_plan_curve_console(FILE *out, const ms_plan_view *view);

#endif
