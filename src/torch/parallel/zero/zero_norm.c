/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What stages of ZeRO share: flat tensors, the optimizer's parameter, norms.
 */
#include "torch/parallel/zero/zero.h"

#include "torch/autograd/cuda_reduce.h"

static ms_shape vector_of(ms_tape *tape, uint64_t elements)
{
    return MS_SHAPE(ms_dim_number(&tape->trace->symbols, elements));
}

ms_tensor ms_zero_vector(ms_tape *tape, uint64_t elements, ms_dtype dtype, const char *name,
                         ms_category category)
{
    if (ms_idle(tape))
        return 0;
    ms_tensor tensor = ms_empty(tape, vector_of(tape, elements), dtype);
    if (name && tensor)
        ms_name_storage(tape, tensor, name, category);
    ms_retain(tape, tensor);
    return tensor;
}

ms_tensor ms_zero_narrow(ms_tape *tape, ms_tensor base, uint64_t elements)
{
    if (ms_idle(tape))
        return 0;
    const uint64_t stride = 1;
    ms_tensor view = ms_alias(tape, base, vector_of(tape, elements), &stride);
    ms_retain(tape, view);
    return view;
}

uint32_t ms_zero_add_master(ms_tape *tape, ms_tensor master)
{
    const ms_parameter row = {
        .tensor = master, .name = ms_tape_name(tape, "fp32 partition"), .scope = MS_NONE};
    if (!ms_vec_push(&tape->parameters, row))
        ms_tape_fail(tape, MS_ERR_NOMEM);
    return tape->parameters.count - 1;
}

void ms_zero_drop(ms_tape *tape, ms_zero_tensors *list)
{
    for (uint32_t i = 0; i < list->count; i++)
        ms_release(tape, list->items[i]);
    list->count = 0;
}

ms_tensor ms_zero_norm_of(ms_tape *tape, ms_tensor gradient)
{
    enum { SUM_BYTES = 8, COUNTED_BYTES = 4 }; /* of a partial result, here and in fp32 */
    uint64_t elements = ms_elements(&ms_info(tape, gradient)->shape);
    ms_tensor wide = ms_empty(tape, vector_of(tape, elements), MS_DTYPE_F64);
    ms_tensor norm = ms_empty(tape, (ms_shape){.rank = 0}, MS_DTYPE_F64);
    ms_retain(tape, norm);
    ms_reduce_buffers buffers = ms_cuda_reduce_buffers(tape->options.device, 1, elements, true);
    if (buffers.partial_bytes) {
        ms_tensor partial =
            ms_empty_bytes(tape, buffers.partial_bytes / COUNTED_BYTES * SUM_BYTES, MS_DTYPE_F64);
        ms_consume(tape, ms_empty_bytes(tape, buffers.semaphore_bytes, MS_DTYPE_I32));
        ms_consume(tape, partial);
    }
    ms_consume(tape, wide);
    return norm;
}

/* total = stack(norms).pow(2).sum().float(), then reduced; the norm of the groups' norms follows.
 */
ms_tensor ms_zero_norm(ms_tape *tape, const ms_zero_tensors *gradients)
{
    ms_zero_tensors norms = {0};
    for (uint32_t i = 0; i < gradients->count && !ms_idle(tape); i++)
        if (!ms_vec_push(&norms, ms_zero_norm_of(tape, gradients->items[i])))
            ms_tape_fail(tape, MS_ERR_NOMEM);
    ms_tensor stacked = ms_empty(tape, vector_of(tape, norms.count), MS_DTYPE_F64);
    ms_tensor powers = ms_empty(tape, vector_of(tape, norms.count), MS_DTYPE_F64);
    ms_consume(tape, stacked);
    ms_tensor sum = ms_empty(tape, (ms_shape){.rank = 0}, MS_DTYPE_F64);
    ms_consume(tape, powers);
    ms_tensor total = ms_empty(tape, (ms_shape){.rank = 0}, MS_DTYPE_F32);
    ms_consume(tape, sum);
    ms_zero_drop(tape, &norms);
    ms_vec_free(&norms);
    ms_retain(tape, total);
    return total;
}
