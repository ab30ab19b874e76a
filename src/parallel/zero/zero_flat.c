/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Flattening: all trained parameters move into one tensor, padded to a multiple of twice the ranks.
 */
#include "parallel/zero/zero.h"

enum { ALIGNMENT = 2 }; /* elements: NCCL's send buffers begin at multiples of 4 bytes */

static uint64_t place_parameters(ms_tape *tape, ms_zero12 *all)
{
    uint64_t first = 0;
    for (uint32_t i = 0; i < tape->parameters.count; i++) {
        uint64_t elements = ms_elements(&ms_info(tape, tape->parameters.items[i].tensor)->shape);
        if (!ms_vec_push(&all->places, (ms_zero_place){.first = first, .elements = elements}))
            ms_tape_fail(tape, MS_ERR_NOMEM);
        first += elements;
    }
    return first;
}

/* A part of it is in the partition if it begins there, or before it and reaches into it. */
static void mark_ours(ms_zero12 *all)
{
    uint64_t begin = all->parallel->rank * all->partition, end = begin + all->partition;
    for (uint32_t i = 0; i < all->places.count; i++) {
        ms_zero_place *place = &all->places.items[i];
        bool begins = place->first >= begin && place->first < end;
        place->is_ours = begins || (place->first < begin && begin < place->first + place->elements);
    }
}

/* parameter.data = flat.narrow(...).view(shape): the memory that it had goes. */
static void move_parameter(ms_tape *tape, const ms_zero12 *all, ms_tensor parameter)
{
    const ms_tensor_info info = *ms_info(tape, parameter);
    ms_tensor view = ms_alias(tape, all->flat, info.shape, info.strides);
    if (!view)
        return;
    ms_storage_swap(tape, parameter, view);
    ms_consume(tape, view);
}

void ms_zero_flatten(ms_tape *tape, ms_zero12 *all)
{
    uint64_t ranks = all->parallel->layout.shards, unit = ALIGNMENT * ranks;
    uint64_t elements = place_parameters(tape, all);
    uint32_t count = tape->parameters.count;
    if (!count || ms_idle(tape))
        return;
    all->dtype = (ms_dtype)ms_info(tape, tape->parameters.items[0].tensor)->dtype;
    uint64_t padding = (unit - elements % unit) % unit;
    all->partition = (elements + padding) / ranks;
    mark_ours(all);
    ms_trace_event(tape, MS_EVENT_EMPTY_CACHE, 0);
    ms_tensor pad = padding ? ms_zero_vector(tape, padding, all->dtype, NULL, 0) : 0;
    all->flat =
        ms_zero_vector(tape, elements + padding, all->dtype, "flat parameters", MS_CATEGORY_WEIGHT);
    ms_release(tape, pad);
    for (uint32_t i = 0; i < count && !ms_idle(tape); i++)
        move_parameter(tape, all, tape->parameters.items[i].tensor);
    ms_tensor copy = ms_zero_vector(tape, all->partition, all->dtype, NULL, 0);
    if (all->parallel->zero.offloads_optimizer) {
        ms_release(tape, copy);
        ms_zero_offload_build(tape, all);
        return;
    }
    ms_tensor master =
        ms_zero_vector(tape, all->partition, MS_DTYPE_F32, "fp32 partition", MS_CATEGORY_WEIGHT);
    ms_release(tape, copy);
    all->master = ms_zero_add_master(tape, master);
    /* a gradient for optimizers whose constructors need one */
    ms_release(tape, ms_zero_vector(tape, all->partition, MS_DTYPE_F32, NULL, 0));
}
