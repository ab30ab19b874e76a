/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * ZeRO-3 with offload_optimizer: the gradients of the shards are on the host. Each comes to the
 * device when its bucket is reduced, where the last micro-step also takes its norm and widens it.
 */
#include "torch/parallel/zero/zero3.h"

/* _constant_buffered_norm2 works on so many elements at a time. */
static const uint64_t NORM_ELEMENTS = UINT64_C(250000000);

/* norm = sqrt(sum of chunk.norm(2) ** 2) */
static ms_tensor norm_of(ms_tape *tape, ms_tensor gradient, uint64_t elements)
{
    ms_tensor norm = 0;
    for (uint64_t at = 0; at < elements && !ms_idle(tape); at += NORM_ELEMENTS) {
        uint64_t left = elements - at;
        ms_tensor part =
            ms_zero_narrow(tape, gradient, left < NORM_ELEMENTS ? left : NORM_ELEMENTS);
        ms_tensor of_part = ms_zero_norm_of(tape, part);
        ms_tensor square = ms_zero_vector(tape, 1, MS_DTYPE_F64, NULL, 0);
        ms_release(tape, of_part);
        ms_release(tape, norm);
        norm = square;
        ms_release(tape, part);
    }
    ms_tensor root = ms_zero_vector(tape, 1, MS_DTYPE_F64, NULL, 0);
    ms_release(tape, norm);
    return root;
}

/* The gradient of a shard, from the host or to be added there. */
void ms_zero3_offload_gradient(ms_tape *tape, ms_zero3 *all, uint32_t index)
{
    uint64_t elements = all->parameters.items[index].shard;
    ms_release(tape, all->returned);
    all->returned =
        ms_zero_vector(tape, elements, all->dtype, "gradient of a shard", MS_CATEGORY_GRADIENT);
    uint64_t bytes = elements * ms_dtype_bytes(all->dtype);
    ms_work_begin(tape, ms_work_of(MS_WORK_TO_DEVICE, bytes));
    if (!all->is_last || ms_idle(tape))
        return;
    if (!ms_vec_push(&all->norms, norm_of(tape, all->returned, elements)))
        ms_tape_fail(tape, MS_ERR_NOMEM);
    ms_tensor wide = ms_zero_vector(tape, elements, MS_DTYPE_F32, NULL, 0);
    ms_work_begin(tape, ms_work_of(MS_WORK_TO_HOST, elements * ms_dtype_bytes(MS_DTYPE_F32)));
    ms_release(tape, wide);
}

/* The sum of the norms, its root, and what replaces infinity. */
static void total_norm(ms_tape *tape)
{
    static const ms_dtype types[] = {MS_DTYPE_F32, MS_DTYPE_F32, MS_DTYPE_U8,
                                     MS_DTYPE_U8,  MS_DTYPE_U8,  MS_DTYPE_F32};
    ms_tensor scalars[sizeof types / sizeof *types];
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        scalars[i] = ms_zero_vector(tape, 1, types[i], NULL, 0);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        ms_release(tape, scalars[i]);
}

void ms_zero3_offload_update(ms_tape *tape, ms_zero3 *all)
{
    enum { PASSES = 7 };
    uint64_t elements = ms_zero3_trained_elements(all);
    total_norm(tape);
    const ms_work update =
        ms_work_of(MS_WORK_HOST_UPDATE, PASSES * elements * ms_dtype_bytes(MS_DTYPE_F32));
    ms_work_wait(tape, ms_work_begin(tape, update));
    const ms_work back = ms_work_of(MS_WORK_TO_DEVICE, elements * ms_dtype_bytes(all->dtype));
    ms_work_wait(tape, ms_work_begin(tape, back));
    ms_zero_drop(tape, &all->norms);
    ms_zero3_gather_persistent(tape, all);
}

/* fp32 shards with gradients and states, and the gradients' sums. */
uint64_t ms_zero3_offload_host_bytes(const ms_zero3 *all, uint64_t states)
{
    uint64_t wide = ms_dtype_bytes(MS_DTYPE_F32);
    return ms_zero3_trained_elements(all) * ((2 + states) * wide + ms_dtype_bytes(all->dtype)) +
           wide * all->groups.count;
}
