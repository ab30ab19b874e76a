/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * ZeRO-1 and ZeRO-2 with offload_optimizer: the fp32 partition, its gradient and the states are on
 * the host. Reduced gradients of the partition go there in the last micro-step, each with its norm;
 * earlier ones are summed there through a permanent buffer on the device.
 */
#include "torch/parallel/zero/zero.h"

uint64_t ms_zero_elements_in_partition(const ms_zero12 *all, uint32_t parameter)
{
    const ms_zero_place *place = &all->places.items[parameter];
    uint64_t partition = ms_zero_group_of(all, parameter)->partition;
    uint64_t begin = all->parallel->rank * partition, end = begin + partition;
    uint64_t first = place->first > begin ? place->first : begin;
    uint64_t last = place->first + place->elements;
    last = last < end ? last : end;
    return last > first ? last - first : 0;
}

static uint64_t largest_parameter(const ms_zero12 *all)
{
    uint64_t largest = 0;
    for (uint32_t i = 0; i < all->places.count; i++)
        if (all->places.items[i].elements > largest)
            largest = all->places.items[i].elements;
    return largest;
}

void ms_zero_offload_build(ms_tape *tape, ms_zero12 *all)
{
    all->staging = ms_zero_vector(tape, largest_parameter(all), all->dtype,
                                  "buffer of offloaded gradients", MS_CATEGORY_GRADIENT);
}

/* norm(gradient); then gradient.to(fp32), which is copied to the host. */
void ms_zero_offload_gradient(ms_tape *tape, ms_zero12 *all, uint32_t index)
{
    ms_parameter *parameter = &tape->parameters.items[index];
    uint64_t elements = ms_zero_elements_in_partition(all, index);
    if (!all->is_last || ms_idle(tape))
        return;
    tape->stream = ms_zero_pool(all);
    ms_tensor part = ms_zero_narrow(tape, parameter->grad, elements);
    if (!ms_vec_push(&all->norms, ms_zero_norm_of(tape, part)))
        ms_tape_fail(tape, MS_ERR_NOMEM);
    ms_tensor wide =
        all->dtype == MS_DTYPE_F32
            ? 0
            : ms_zero_vector(tape, elements, MS_DTYPE_F32, "fp32 gradient", MS_CATEGORY_GRADIENT);
    ms_work_begin(tape, ms_work_of(MS_WORK_TO_HOST, elements * ms_dtype_bytes(MS_DTYPE_F32)));
    ms_release(tape, wide);
    ms_release(tape, part);
    ms_tensor grad = parameter->grad;
    parameter->grad = 0;
    ms_release(tape, grad);
    tape->stream = MS_STREAM_OPERATORS;
}

/* The host updates each group's partition, reading and writing it and the states; then the device
 * has it. */
void ms_zero_offload_update(ms_tape *tape, ms_zero12 *all)
{
    enum { PASSES = 7 };
    uint64_t ranks = all->parallel->layout.shards, size = ms_dtype_bytes(all->dtype);
    ms_consume(tape, ms_empty_bytes(tape, 1, MS_DTYPE_U8)); /* the overflow flag */
    for (uint32_t i = 0; i < all->groups.count && !ms_idle(tape); i++) {
        uint64_t partition = all->groups.items[i].partition;
        const ms_work update =
            ms_work_of(MS_WORK_HOST_UPDATE, PASSES * partition * ms_dtype_bytes(MS_DTYPE_F32));
        ms_work_wait(tape, ms_work_begin(tape, update));
        ms_work_wait(tape, ms_work_begin(tape, ms_work_of(MS_WORK_TO_DEVICE, partition * size)));
    }
    ms_zero_drop(tape, &all->norms);
    for (uint32_t i = 0; i < all->groups.count && !ms_idle(tape); i++)
        ms_work_wait(tape, ms_collective(tape, MS_WORK_ALL_GATHER, all->stream,
                                         all->groups.items[i].partition * size * (ranks - 1)));
}

/* Each partition in fp32 with its gradient, states and step, a copy in the parameters' type, and a
 * buffer as large as the device's. */
uint64_t ms_zero_offload_host_bytes(const ms_zero12 *all, uint64_t states)
{
    uint64_t size = ms_dtype_bytes(all->dtype), wide = ms_dtype_bytes(MS_DTYPE_F32);
    return ms_zero_partitions(all) * ((2 + states) * wide + size) + all->groups.count * wide +
           largest_parameter(all) * size;
}
