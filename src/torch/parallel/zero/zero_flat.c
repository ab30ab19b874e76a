/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Flattening: the trained parameters of a group move into one tensor, padded to a multiple of twice
 * the ranks.
 */
#include "torch/parallel/zero/zero.h"
#include "torch/parallel/zero/zero_groups.h"

enum { ALIGNMENT = 2 }; /* elements: NCCL's send buffers begin at multiples of 4 bytes */

static void list_parameters(ms_tape *tape, ms_zero12 *all)
{
    for (uint32_t i = 0; i < tape->parameters.count; i++) {
        const ms_parameter *parameter = &tape->parameters.items[i];
        const ms_zero_place place = {.group = ms_zero_group_number(tape, &all->parallel->zero, i),
                                     .elements =
                                         ms_elements(&ms_info(tape, parameter->tensor)->shape)};
        if (!ms_vec_push(&all->places, place))
            ms_tape_fail(tape, MS_ERR_NOMEM);
    }
}

/* DeepSpeed drops groups without parameters. */
static void make_groups(ms_tape *tape, ms_zero12 *all)
{
    for (uint32_t number = 0; number < MS_ZERO_MOST_GROUPS && !ms_idle(tape); number++) {
        ms_zero_group group = {.first = all->order.count, .master = MS_NONE};
        for (uint32_t i = 0; i < all->places.count; i++) {
            ms_zero_place *place = &all->places.items[i];
            if (place->group != number)
                continue;
            if (!ms_vec_push(&all->order, i))
                ms_tape_fail(tape, MS_ERR_NOMEM);
        }
        group.end = all->order.count;
        for (uint32_t i = group.first; i < group.end; i++)
            all->places.items[all->order.items[i]].group = all->groups.count;
        if (group.end > group.first && !ms_vec_push(&all->groups, group))
            ms_tape_fail(tape, MS_ERR_NOMEM);
    }
}

static uint64_t place_parameters(ms_zero12 *all, const ms_zero_group *group)
{
    uint64_t first = 0;
    for (uint32_t i = group->first; i < group->end; i++) {
        ms_zero_place *place = &all->places.items[all->order.items[i]];
        place->first = first;
        first += place->elements;
    }
    return first;
}

/* A part of it is in the partition if it begins there, or before it and reaches into it. */
static void mark_ours(ms_zero12 *all, const ms_zero_group *group)
{
    uint64_t begin = all->parallel->rank * group->partition, end = begin + group->partition;
    for (uint32_t i = group->first; i < group->end; i++) {
        ms_zero_place *place = &all->places.items[all->order.items[i]];
        bool begins = place->first >= begin && place->first < end;
        place->is_ours = begins || (place->first < begin && begin < place->first + place->elements);
    }
}

/* parameter.data = flat.narrow(...).view(shape): the memory that it had goes. */
static void move_parameter(ms_tape *tape, ms_tensor flat, ms_tensor parameter)
{
    const ms_tensor_info info = *ms_info(tape, parameter);
    ms_tensor view = ms_alias(tape, flat, info.shape, info.strides);
    if (!view)
        return;
    ms_storage_swap(tape, parameter, view);
    ms_consume(tape, view);
}

static void flatten(ms_tape *tape, ms_zero12 *all, ms_zero_group *group)
{
    uint64_t ranks = all->parallel->layout.shards, unit = ALIGNMENT * ranks;
    uint64_t elements = place_parameters(all, group);
    uint64_t padding = (unit - elements % unit) % unit;
    group->partition = (elements + padding) / ranks;
    mark_ours(all, group);
    ms_trace_event(tape, MS_EVENT_EMPTY_CACHE, 0);
    ms_tensor pad = padding ? ms_zero_vector(tape, padding, all->dtype, NULL, 0) : 0;
    group->flat =
        ms_zero_vector(tape, elements + padding, all->dtype, "flat parameters", MS_CATEGORY_WEIGHT);
    ms_release(tape, pad);
    for (uint32_t i = group->first; i < group->end && !ms_idle(tape); i++)
        move_parameter(tape, group->flat, tape->parameters.items[all->order.items[i]].tensor);
    ms_tensor copy = ms_zero_vector(tape, group->partition, all->dtype, NULL, 0);
    if (all->parallel->zero.offloads_optimizer) {
        ms_release(tape, copy);
        return;
    }
    ms_tensor master =
        ms_zero_vector(tape, group->partition, MS_DTYPE_F32, "fp32 partition", MS_CATEGORY_WEIGHT);
    ms_release(tape, copy);
    group->master = ms_zero_add_master(tape, master);
}

/* Gradients for optimizers whose constructors need them. */
static void make_first_gradients(ms_tape *tape, const ms_zero12 *all)
{
    ms_zero_tensors gradients = {0};
    for (uint32_t i = 0; i < all->groups.count && !ms_idle(tape); i++)
        if (!ms_vec_push(&gradients, ms_zero_vector(tape, all->groups.items[i].partition,
                                                    MS_DTYPE_F32, NULL, 0)))
            ms_tape_fail(tape, MS_ERR_NOMEM);
    ms_zero_drop(tape, &gradients);
    ms_vec_free(&gradients);
}

void ms_zero_flatten(ms_tape *tape, ms_zero12 *all)
{
    list_parameters(tape, all);
    make_groups(tape, all);
    if (!all->groups.count || ms_idle(tape))
        return;
    all->dtype = (ms_dtype)ms_info(tape, tape->parameters.items[0].tensor)->dtype;
    for (uint32_t i = 0; i < all->groups.count && !ms_idle(tape); i++)
        flatten(tape, all, &all->groups.items[i]);
    if (all->parallel->zero.offloads_optimizer)
        ms_zero_offload_build(tape, all);
    else
        make_first_gradients(tape, all);
}
