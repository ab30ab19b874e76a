/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run/step/optimizers/optimizer_lists.h"

#include "torch/ops/ops.h"

ms_tensor ms_optimizer_state(ms_tape *tape, ms_shape shape, ms_dtype dtype, const char *name)
{
    tape->new_category = MS_CATEGORY_OPTIMIZER_STATE;
    ms_tensor state = ms_empty(tape, shape, dtype);
    tape->new_category = MS_CATEGORY_TEMPORARY;
    ms_retain(tape, state);
    ms_name_storage(tape, state, name, MS_CATEGORY_OPTIMIZER_STATE);
    return state;
}

void ms_list_push(ms_tape *tape, ms_tensor_list *list, ms_tensor tensor)
{
    if (!ms_vec_push(list, tensor))
        ms_tape_fail(tape, MS_ERR_NOMEM);
}

void ms_list_drop(ms_tape *tape, ms_tensor_list *list)
{
    while (list->count)
        ms_consume(tape, list->items[--list->count]);
    ms_vec_free(list);
}

ms_tensor_list ms_list_like(ms_tape *tape, const ms_stepped *stepped, int state)
{
    ms_tensor_list list = {0};
    for (uint32_t i = 0; i < stepped->count && tape->status == MS_OK; i++) {
        const ms_parameter *parameter = ms_stepped_at(tape, stepped, i);
        ms_tensor like = state == MS_LIST_OF_GRADIENTS ? parameter->grad : parameter->states[state];
        ms_list_push(tape, &list, ms_empty_like(tape, like, (ms_dtype)ms_info(tape, like)->dtype));
    }
    return list;
}
