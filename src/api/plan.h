/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The public ms_plan: its settings and, once solved, the answer.
 */
#ifndef MS_API_PLAN_H
#define MS_API_PLAN_H

#include "base/deadline.h"
#include "decide/plan/file_plan.h"
#include "decide/plan/settings.h"
#include "input/config/load/load.h"
#include "input/config/model/model_config.h"
#include "input/config/run/run_fields.h"
#include "memscope/plan.h"
#include "report/plan/plan_answer.h"

struct ms_plan {
    ms_arena *arena;
    ms_plan_settings settings;
    ms_run_draft draft; /* only to refuse a bad value at once, and to see which fields are set */
    ms_vec(ms_run_setting) run_settings;
    ms_watch *watch; /* of the run */
    ms_stop stop;
    ms_style style;
    ms_notes notes;
    bool is_brief;     /* the plan alone, without what it needs of the device */
    ms_file_plan file; /* for figures in a file */
    /* for a run */
    ms_model_config model;
    ms_run_config run;
    ms_device device; /* of the run, when rates had to be assumed */
    ms_step_task task;
    ms_step_plan step;
    ms_curve curve;
    ms_target_answers targets;
    bool is_solved; /* there is an answer for a run */
};

#endif
