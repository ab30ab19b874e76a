/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run/step/optimizers/optimizer_row.h"

#include "torch/autograd/cuda_reduce.h"
#include "torch/ops/ops.h"

/* ---- optimizer lists ---- */

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

/* ---- reductions ---- */

static void use_partial_results(ms_tape *tape, uint64_t outputs, uint64_t inputs,
                                bool inputs_contiguous)
{
    if (tape->on_cpu || ms_idle(tape))
        return;
    ms_reduce_buffers buffers =
        ms_cuda_reduce_buffers(tape->options.device, outputs, inputs, inputs_contiguous);
    if (!buffers.partial_bytes)
        return;
    ms_tensor partial = ms_empty_bytes(tape, buffers.partial_bytes, MS_DTYPE_U8);
    ms_transient(tape, buffers.semaphore_bytes, MS_DTYPE_I32);
    ms_consume(tape, partial);
}

static ms_tensor reduced(ms_tape *tape, ms_tensor a, ms_shape shape, bool inputs_contiguous)
{
    if (ms_idle(tape) || !a)
        return 0;
    const ms_tensor_info info = *ms_info(tape, a);
    ms_tensor out = ms_empty(tape, shape, (ms_dtype)info.dtype);
    uint64_t outputs = ms_elements(&shape), elements = ms_elements(&info.shape);
    use_partial_results(tape, outputs, outputs ? elements / outputs : 0, inputs_contiguous);
    return out;
}

ms_tensor ms_reduce_all(ms_tape *tape, ms_tensor a)
{
    return reduced(tape, a, (ms_shape){.rank = 0}, true);
}

ms_tensor ms_reduce_rows(ms_tape *tape, ms_tensor a)
{
    ms_shape shape = ms_info(tape, a)->shape;
    shape.rank--;
    return reduced(tape, a, shape, true);
}

ms_tensor ms_reduce_columns(ms_tape *tape, ms_tensor a)
{
    ms_shape shape = ms_info(tape, a)->shape;
    shape.dims[shape.rank - 2] = shape.dims[shape.rank - 1];
    shape.rank--;
    return reduced(tape, a, shape, false);
}

/* ---- optimizer row ---- */

uint64_t ms_optimizer_state_count(const ms_optimizer_row *row)
{
    return (uint64_t)(row->states[0] != NULL) + (row->states[1] != NULL);
}

uint64_t ms_optimizer_passes(const ms_optimizer_row *row)
{
    return 3 + 2 * ms_optimizer_state_count(row);
}

void ms_optimizer_make_states(ms_tape *tape, const ms_optimizer_row *row, ms_parameter *parameter)
{
    if (parameter->states_made)
        return;
    parameter->states_made = true;
    uint32_t previous = ms_scope_enter(tape, parameter->scope);
    row->make_states(tape, row, parameter);
    tape->scope = previous;
}
