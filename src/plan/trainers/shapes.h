/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Internal to the trainers: collecting the plans that one can express. A failure sticks; what comes
 * behind it does nothing.
 */
#ifndef MS_PLAN_TRAINERS_SHAPES_H
#define MS_PLAN_TRAINERS_SHAPES_H

#include "plan/trainers/target.h"

typedef struct ms_shape_list {
    ms_arena *arena;
    const ms_step_task *task;
    ms_stack *stack;
    ms_shapes *shapes;
    ms_error *err;
    ms_status status;
} ms_shape_list;

/* Each `step`-th layer from `first` on, below `end`. */
typedef struct ms_layer_range {
    uint32_t first, step, end;
} ms_layer_range;

#define MS_NO_LAYERS ((ms_layer_range){0, 1, 0})
#define MS_FIRST_LAYERS(n) ((ms_layer_range){0, 1, (n)})

/* Whether the task allows all of these ms_technique bits. */
bool ms_shapes_may(const ms_shape_list *list, uint32_t techniques);

/* Whether it may send checkpoints' inputs to the host by save_on_cpu. */
bool ms_shapes_may_save_on_cpu(const ms_shape_list *list);

/* A checkpoint that keeps its input on the device; what is in it may be in tiles. */
bool ms_is_plain_checkpoint(const ms_treatment *treatment);

/* The stack's option for this treatment, of whose operators only those are kept that layers run; it
 * is measured when there is none yet. */
uint32_t ms_shapes_option(ms_shape_list *list, const ms_treatment *treatment);

/* Adds the plan that treats these layers by `option` and keeps the others; the loss is in one. A
 * `text` of NULL means that there was no memory for it. */
void ms_shapes_add(ms_shape_list *list, ms_layer_range layers, uint32_t option, const char *text);

/* ---- the trainers' lists ---- */

#define MS_SHAPES_ARGUMENTS                                                                        \
    ms_arena *arena, const ms_step_task *task, ms_stack *stack, ms_shapes *shapes, ms_error *err

ms_status ms_shapes_hf(MS_SHAPES_ARGUMENTS);
ms_status ms_shapes_torchtitan(MS_SHAPES_ARGUMENTS);
ms_status ms_shapes_torchtune(MS_SHAPES_ARGUMENTS);
ms_status ms_shapes_megatron(MS_SHAPES_ARGUMENTS);
ms_status ms_shapes_deepspeed(MS_SHAPES_ARGUMENTS);
ms_status ms_shapes_nemo(MS_SHAPES_ARGUMENTS);
ms_status ms_shapes_axolotl(MS_SHAPES_ARGUMENTS);

/* Python that treats a Hugging Face model's layers so. */
const char *ms_pytorch_code(ms_arena *arena, const ms_step_task *task,
                            const ms_treatments *treatments);

#endif
