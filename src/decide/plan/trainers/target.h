/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Trainers: the plans they can express, and the settings for a plan.
 */
#ifndef MS_DECIDE_PLAN_TRAINERS_TARGET_H
#define MS_DECIDE_PLAN_TRAINERS_TARGET_H

#include "base/vec.h"
#include "decide/plan/costs/cost_model.h"
#include "decide/plan/costs/step_task.h"

/* A plan that a trainer can express. */
typedef struct ms_target_plan {
    ms_assignment assignment;
    const char *text; /* flags, keys or code; one or more lines */
} ms_target_plan;

typedef ms_vec(ms_target_plan) ms_target_plans;

#define MS_RANKS_ARGUMENTS                                                                         \
    ms_arena *arena, const ms_run_config *run, bool checkpoints, const char **text, ms_error *err

typedef struct ms_target {
    const char *name;  /* "hf", as --target spells it */
    const char *title; /* "Hugging Face Trainer" */
    bool is_free;      /* can express any mix of its techniques, layer by layer; has no list */
    const char *unpredicted; /* why there are no plans: a clause; NULL: there are. Without a list */
    uint32_t techniques;     /* ms_technique bits */
    /* Appends every plan that the trainer can express, including the one that keeps everything; may
     * add options to the cost model. NULL when is_free. */
    ms_status (*list)(ms_arena *arena, const ms_step_task *task, ms_cost_model *costs,
                      ms_target_plans *plans, ms_error *err);
    /* The settings for any treatments; NULL unless is_free, or if there are none. */
    const char *(*text)(ms_arena *arena, const ms_step_task *task, const ms_treatments *treatments);
    /* The same, and they hold PyTorch's allocator to this fraction of the device's memory. NULL
     * where settings cannot. */
    const char *(*held_text)(ms_arena *arena, const ms_step_task *task,
                             const ms_treatments *treatments, double fraction);
    /* How several ranks share the run: see ranks_text.h. NULL: the trainer has no such text. */
    ms_status (*ranks)(MS_RANKS_ARGUMENTS);
} ms_target;

#endif
