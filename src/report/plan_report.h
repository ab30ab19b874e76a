/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The reports of plans: for a run, and for figures in a file.
 */
#ifndef MS_REPORT_PLAN_REPORT_H
#define MS_REPORT_PLAN_REPORT_H

#include <stdio.h>

#include "decide/plan/file_plan.h"
#include "report/plan/plan_answer.h"

/* Whether the format shows the step as planned in detail. */
bool ms_plan_format_is_detailed(const char *format);

/* Writes, flushes and checks. Refuses a format that is for a curve where there is a plan, and one
 * that draws times where they are not known. */
ms_status ms_plan_report_write(const ms_plan_answer *answer, const char *format, FILE *out,
                               ms_error *err);

/* The same of a plan for a file. */
ms_status ms_file_plan_report_write(const ms_file_plan *plan, const char *format, FILE *out,
                                    ms_error *err);

#endif
