/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What a report of a plan for a run is made from.
 */
#ifndef MS_REPORT_PLAN_PLAN_ANSWER_H
#define MS_REPORT_PLAN_PLAN_ANSWER_H

#include <stdio.h>

#include "base/error.h"
#include "base/vec.h"
#include "memscope/plan.h"
#include "decide/plan/search/step_plan.h"
#include "decide/plan/trainers/target.h"
#include "report/view/view.h"

/* What a trainer can do at the same budget. */
typedef struct ms_target_answer {
    const ms_target *target;
    ms_step_plan plan;       /* without figures when unsupported */
    const char *unsupported; /* why the trainer has no plan for the run; NULL: it was planned */
} ms_target_answer;

typedef ms_vec(ms_target_answer) ms_target_answers;

typedef struct ms_plan_answer {
    const ms_step_task *task;
    const ms_step_plan *plan;         /* or a curve: */
    const ms_curve *curve;            /* NULL when there is a plan */
    const ms_target_answers *targets; /* in addition to the plan; may be empty */
    const ms_view *analysis; /* of the run as planned, where the format shows it; or NULL */
    const ms_view *kept;     /* the same with everything kept; NULL also where that is the plan */
    ms_style style;
} ms_plan_answer;

#endif
