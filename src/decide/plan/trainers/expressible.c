/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/plan/trainers/expressible.h"

#include <string.h>

#include "base/error.h"
#include "decide/plan/costs/measure.h"
#include "decide/plan/costs/option_list.h"

bool ms_expressible_may(const ms_expressible_list *list, uint32_t techniques)
{
    const ms_step_task *task = list->task;
    const uint32_t impossible = ms_techniques_impossible(task->model, task->run);
    return (task->techniques & ~impossible & techniques) == techniques;
}

bool ms_expressible_may_save_on_cpu(const ms_expressible_list *list)
{
    const ms_run_config *run = list->task->run;
    return ms_expressible_may(list, MS_MAY_CHECKPOINT | MS_MAY_OFFLOAD) && !run->device->is_cpu &&
           run->checkpoint_kind == MS_CHECKPOINT_NON_REENTRANT;
}

bool ms_is_plain_checkpoint(const ms_treatment *treatment)
{
    return treatment->kind == MS_TREAT_CHECKPOINT && treatment->input == MS_INPUT_ON_DEVICE;
}

static bool is_run(const ms_op_list *ops, const char *name)
{
    for (uint32_t i = 0; i < ops->count; i++)
        if (ms_kept_name_means(name, ops->items[i].name))
            return true;
    return false;
}

/* Without the operators that no layer runs: policies name those of all models. */
static ms_treatment known_to_layers(ms_expressible_list *list, const ms_treatment *treatment)
{
    ms_treatment known = *treatment;
    if (treatment->kept_count == 0)
        return known;
    ms_kept_op *kept = ms_arena_array(list->arena, ms_kept_op, treatment->kept_count);
    if (!kept)
        list->status = ms_fail(list->err, MS_ERR_NOMEM, "out of memory for kept operators");
    known.kept_ops = kept;
    known.kept_count = 0;
    for (uint32_t i = 0; kept && i < treatment->kept_count; i++)
        if (is_run(&list->costs->ops, treatment->kept_ops[i].name))
            kept[known.kept_count++] = treatment->kept_ops[i];
    if (known.kept_count == 0)
        known.kind = MS_TREAT_CHECKPOINT;
    return known;
}

uint32_t ms_expressible_option(ms_expressible_list *list, const ms_treatment *treatment)
{
    uint32_t index = MS_OPTION_KEEP;
    if (list->status != MS_OK)
        return index;
    const ms_treatment known = known_to_layers(list, treatment);
    ms_error reason = {0};
    if (list->status == MS_OK)
        list->status = ms_cost_model_add_option(list->arena, list->task->model, list->task->run,
                                                &known, list->costs, &index, &reason);
    if (list->status == MS_ERR_CONFIG || list->status == MS_ERR_USAGE) {
        list->status = MS_OK;
        return MS_OPTION_REFUSED;
    }
    ms_error_add(list->err, &reason);
    return list->status == MS_OK ? index : MS_OPTION_KEEP;
}

void ms_expressible_add(ms_expressible_list *list, ms_layer_range layers, uint32_t option,
                        const char *text)
{
    if (list->status != MS_OK || option == MS_OPTION_REFUSED)
        return;
    ms_target_plan shape = {.text = text};
    shape.assignment.options = ms_arena_array(list->arena, uint32_t, list->costs->layer_count);
    for (uint32_t i = layers.first; shape.assignment.options && i < layers.end; i += layers.step)
        shape.assignment.options[i] = option;
    if (!text || !shape.assignment.options || !ms_vec_push(list->plans, shape))
        list->status = ms_fail(list->err, MS_ERR_NOMEM, "out of memory for a trainer's plans");
}
