/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Internal to the trainers: collects the plans that a trainer can express. Errors stick; later
 * calls do nothing.
 */
#ifndef MS_DECIDE_PLAN_TRAINERS_EXPRESSIBLE_H
#define MS_DECIDE_PLAN_TRAINERS_EXPRESSIBLE_H

#include "decide/plan/trainers/target.h"

/* ---- the trainers' lists ---- */

#define MS_EXPRESSIBLE_ARGUMENTS                                                                   \
    ms_arena *arena, const ms_step_task *task, ms_cost_model *costs, ms_target_plans *plans,       \
        ms_error *err

ms_status ms_expressible_hf(MS_EXPRESSIBLE_ARGUMENTS);
ms_status ms_expressible_torchtitan(MS_EXPRESSIBLE_ARGUMENTS);
ms_status ms_expressible_torchtune(MS_EXPRESSIBLE_ARGUMENTS);
ms_status ms_expressible_deepspeed(MS_EXPRESSIBLE_ARGUMENTS);
ms_status ms_expressible_axolotl(MS_EXPRESSIBLE_ARGUMENTS);

/* Python code that applies the treatments to the layers of a Hugging Face model. */
const char *ms_pytorch_code(ms_arena *arena, const ms_step_task *task,
                            const ms_treatments *treatments);
/* The same, after a call that holds the allocator to this fraction of the device's memory. */
const char *ms_pytorch_held_code(ms_arena *arena, const ms_step_task *task,
                                 const ms_treatments *treatments, double fraction);

/* "torch.cuda.set_per_process_memory_fraction(0.9394)", in the arena; NULL: out of memory. */
const char *ms_pytorch_limit_call(ms_arena *arena, double fraction);

#endif
