/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Reports of plans for runs: one row per format.
 */
#ifndef MS_REPORT_PLAN_PLAN_REPORT_H
#define MS_REPORT_PLAN_PLAN_REPORT_H

#include <stdio.h>

#include "base/error.h"
#include "base/vec.h"
#include "memscope/plan.h"
#include "plan/search/step_plan.h"
#include "plan/trainers/target.h"
#include "report/view/view.h"

/* The plan of a trainer at the same budget. */
typedef struct ms_target_answer {
    const ms_target *target;
    ms_step_plan plan;       /* without figures when unsupported */
    const char *unsupported; /* why the trainer has no plan for the run; NULL: it was planned */
} ms_target_answer;

typedef ms_vec(ms_target_answer) ms_target_answers;

typedef struct ms_plan_answer {
    const ms_step_task *task;
    const ms_step_plan *plan;         /* NULL when there is a curve */
    const ms_curve *curve;            /* NULL when there is a plan */
    const ms_target_answers *targets; /* in addition to the plan; may be empty */
    const ms_view *analysis;          /* of the planned run, if the format shows it; or NULL */
    ms_style style;
} ms_plan_answer;

/* Whether the format shows the planned step in detail. */
bool ms_plan_format_is_detailed(const char *format);

/* Writes, flushes and checks for errors. */
ms_status ms_plan_report_write(const ms_plan_answer *answer, const char *format, FILE *out,
                               ms_error *err);

#endif
