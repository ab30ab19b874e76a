/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The optimizer's step of stages 1 and 2: the norm, then for each group an fp32 gradient of its
 * partition, of which the optimizer steps one tensor; the parameters are gathered in place.
 */
#include "torch/autograd/cuda_reduce.h"
#include "torch/parallel/zero/zero.h"

/* ---- zero offload ---- */

/* ZeRO-1 and ZeRO-2 with offload_optimizer: the fp32 partition, its gradient and the states are on
 * the host. Reduced gradients of the partition go there in the last micro-step, each with its norm;
 * earlier ones are summed there through a permanent buffer on the device. */

/* Elements of a parameter that lie in this rank's partition of its group. */
static uint64_t zero_elements_in_partition(const ms_zero12 *all, uint32_t parameter)
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

void ms_zero_offload_build(ms_tape *tape, ms_zero12 *all)
{
    all->staging = ms_zero_vector(tape, largest_parameter(all), all->dtype,
                                  "buffer of offloaded gradients", MS_CATEGORY_GRADIENT);
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

ms_tensor ms_zero_narrow(ms_tape *tape, ms_tensor base, uint64_t elements)
{
    if (ms_idle(tape))
        return 0;
    const uint64_t stride = 1;
    ms_tensor view = ms_alias(tape, base, vector_of(tape, elements), &stride);
    ms_retain(tape, view);
    return view;
}

/* norm(gradient); then gradient.to(fp32), which is copied to the host. */
void ms_zero_offload_gradient(ms_tape *tape, ms_zero12 *all, uint32_t index)
{
    ms_parameter *parameter = &tape->parameters.items[index];
    uint64_t elements = zero_elements_in_partition(all, index);
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

void ms_zero_drop(ms_tape *tape, ms_zero_tensors *list)
{
    for (uint32_t i = 0; i < list->count; i++)
        ms_release(tape, list->items[i]);
    list->count = 0;
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

/* ---- zero norm ---- */

/* What stages of ZeRO share: flat tensors, the optimizer's parameter, norms. */

uint32_t ms_zero_add_master(ms_tape *tape, ms_tensor master)
{
    const ms_parameter row = {
        .tensor = master, .name = ms_tape_name(tape, "fp32 partition"), .scope = MS_NONE};
    if (!ms_vec_push(&tape->parameters, row))
        ms_tape_fail(tape, MS_ERR_NOMEM);
    return tape->parameters.count - 1;
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

/* ---- zero step ---- */

/* torch.cat of the pieces; one piece is a view. */
static ms_tensor flatten(ms_tape *tape, const ms_zero12 *all, const ms_zero_group *group)
{
    if (group->averaged.count > 1)
        return ms_zero_vector(tape, group->partition, all->dtype, "gradients of the partition",
                              MS_CATEGORY_GRADIENT);
    ms_tensor only = group->averaged.count ? group->averaged.items[0] : 0;
    ms_retain(tape, only);
    return only;
}

/* Gradients that are in fp32 already: views of the partition's. */
static void list_wide(ms_tape *tape, const ms_zero12 *all, ms_zero_group *group)
{
    if (!group->wide)
        group->wide = ms_zero_vector(tape, group->partition, MS_DTYPE_F32, "fp32 gradients",
                                     MS_CATEGORY_GRADIENT);
    for (uint32_t i = group->first; i < group->end && !ms_idle(tape); i++) {
        uint64_t elements = zero_elements_in_partition(all, all->order.items[i]);
        if (elements && !ms_vec_push(&group->averaged, ms_zero_narrow(tape, group->wide, elements)))
            ms_tape_fail(tape, MS_ERR_NOMEM);
    }
}

/* The fp32 gradient of the partition of the group that is stepped next. */
static void widen(ms_tape *tape, ms_zero12 *all)
{
    ms_zero_group *group = &all->groups.items[all->group];
    bool is_wide = all->parallel->zero.accumulates_f32;
    ms_tensor flat = is_wide ? group->wide : flatten(tape, all, group);
    ms_tensor wide = flat;
    group->wide = 0;
    if (!is_wide && all->dtype != MS_DTYPE_F32)
        wide = ms_zero_vector(tape, group->partition, MS_DTYPE_F32, "fp32 gradients",
                              MS_CATEGORY_GRADIENT);
    if (wide != flat)
        ms_release(tape, flat);
    tape->parameters.items[group->master].grad = wide;
    ms_zero_drop(tape, &group->averaged);
}

void ms_zero_prepare_update(ms_tape *tape, ms_zero12 *all)
{
    bool is_wide = all->parallel->zero.accumulates_f32;
    for (uint32_t i = 0; i < all->groups.count && is_wide; i++)
        list_wide(tape, all, &all->groups.items[i]);
    all->previous = all->norm;
    all->group = 0;
    if (!all->groups.count || ms_idle(tape))
        return;
    ms_zero_tensors norms = {0};
    for (uint32_t i = 0; i < all->groups.count && !ms_idle(tape); i++)
        if (!ms_vec_push(&norms, ms_zero_norm(tape, &all->groups.items[i].averaged)))
            ms_tape_fail(tape, MS_ERR_NOMEM);
    all->total = ms_zero_vector(tape, 1, MS_DTYPE_F32, NULL, 0);
    ms_zero_drop(tape, &norms);
    ms_vec_free(&norms);
    all->norm = ms_zero_vector(tape, 1, MS_DTYPE_F32, "norm of gradients", MS_CATEGORY_TEMPORARY);
    widen(tape, all);
}

bool ms_zero_finish_update(ms_tape *tape, ms_zero12 *all)
{
    if (!all->groups.count || ms_idle(tape))
        return false;
    uint64_t ranks = all->parallel->layout.shards;
    ms_parameter *master = &tape->parameters.items[all->groups.items[all->group].master];
    ms_tensor grad = master->grad;
    master->grad = 0;
    ms_release(tape, grad);
    if (++all->group < all->groups.count) {
        widen(tape, all);
        return true;
    }
    for (uint32_t i = 0; i < all->groups.count; i++) {
        uint64_t bytes = all->groups.items[i].partition * ms_dtype_bytes(all->dtype) * (ranks - 1);
        ms_work_wait(tape, ms_collective(tape, MS_WORK_ALL_GATHER, all->stream, bytes));
    }
    ms_release(tape, all->total);
    ms_release(tape, all->previous);
    all->total = all->previous = 0;
    return false;
}
