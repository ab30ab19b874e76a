/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Gradients of ZeRO-3: they are copied into the bucket; when another would not fit, the bucket's
 * are interleaved by rank in a new tensor and reduced, and this rank's part is added to the
 * permanent tensor of shards' gradients. Then the update, group by group.
 */
#include "torch/parallel/zero/zero3.h"

#include <stdlib.h>

#include "core/trace/build.h"

static ms_parameter *trained(ms_tape *tape, const ms_zero3 *all, uint32_t row)
{
    return &tape->parameters.items[all->parameters.items[row].placed.parameter];
}

static void drop_gradient(ms_tape *tape, const ms_zero3 *all, uint32_t index, bool is_recorded)
{
    ms_parameter *parameter = trained(tape, all, index);
    ms_tensor grad = parameter->grad;
    if (!grad || ms_idle(tape))
        return;
    if (is_recorded && all->reduce_pool != MS_STREAM_OPERATORS &&
        ms_trace_add_use(tape->trace, ms_info(tape, grad)->storage, all->reduce_stream) == MS_NONE)
        ms_tape_fail(tape, MS_ERR_NOMEM);
    parameter->grad = 0;
    ms_release(tape, grad);
}

/* torch.empty() for the ranks whose part of a tensor is shorter than those of the first. */
static void pad(ms_tape *tape, const ms_zero3 *all, uint64_t elements, ms_zero_tensors *pads)
{
    uint64_t ranks = all->parallel->layout.shards, part = (elements + ranks - 1) / ranks;
    for (uint64_t rank = elements / part; rank < ranks && !ms_idle(tape); rank++) {
        uint64_t begin = rank * part, here = elements > begin ? elements - begin : 0;
        if (!ms_vec_push(pads, ms_zero_vector(tape, part - here, all->dtype, NULL, 0)))
            ms_tape_fail(tape, MS_ERR_NOMEM);
    }
}

/* reduce_scatter_coalesced */
static ms_tensor interleave(ms_tape *tape, ms_zero3 *all)
{
    uint64_t ranks = all->parallel->layout.shards, sum = 0;
    uint32_t count = all->collected_parameters.count;
    ms_zero_tensors pads = {0};
    for (uint32_t i = 0; i < count; i++) {
        const ms_zero3_parameter *row = &all->parameters.items[all->collected_parameters.items[i]];
        if (count == 1 && row->elements % ranks == 0)
            return 0;
        sum += row->shard * ranks;
        pad(tape, all, row->elements, &pads);
    }
    ms_tensor flat =
        ms_zero_vector(tape, sum, all->dtype, "bucket being reduced", MS_CATEGORY_GRADIENT);
    ms_zero_drop(tape, &pads);
    ms_vec_free(&pads);
    return flat;
}

/* Each reduced part in the type of the sums. */
static void widen_parts(ms_tape *tape, const ms_zero3 *all, ms_zero_tensors *wide)
{
    for (uint32_t i = 0; i < all->collected_parameters.count && !ms_idle(tape); i++) {
        uint64_t elements = all->parameters.items[all->collected_parameters.items[i]].shard;
        if (!ms_vec_push(wide, ms_zero_vector(tape, elements, MS_DTYPE_F32, NULL, 0)))
            ms_tape_fail(tape, MS_ERR_NOMEM);
    }
}

static int compare_numbers(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

void ms_zero3_reduce(ms_tape *tape, ms_zero3 *all)
{
    if (!all->collected_parameters.count || ms_idle(tape))
        return;
    ms_zero3_limit(tape, &all->reduced);
    uint64_t ranks = all->parallel->layout.shards;
    uint64_t bytes = all->collected * ms_dtype_bytes(all->dtype);
    tape->stream = all->reduce_pool;
    ms_tensor flat = interleave(tape, all);
    ms_collective(tape, MS_WORK_REDUCE_SCATTER, all->reduce_stream, bytes / ranks * (ranks - 1));
    ms_zero_tensors wide = {0};
    if (all->parallel->zero.accumulates_f32) {
        widen_parts(tape, all, &wide);
        ms_release(tape, flat);
        flat = 0;
    }
    if (all->parallel->zero.offloads_optimizer)
        qsort(all->collected_parameters.items, all->collected_parameters.count, sizeof(uint32_t),
              compare_numbers);
    for (uint32_t i = 0; i < all->collected_parameters.count; i++) {
        if (all->parallel->zero.offloads_optimizer)
            ms_zero3_offload_gradient(tape, all, all->collected_parameters.items[i]);
        drop_gradient(tape, all, all->collected_parameters.items[i], true);
    }
    ms_release(tape, all->returned);
    all->returned = 0;
    ms_release(tape, flat);
    ms_zero_drop(tape, &wide);
    ms_vec_free(&wide);
    tape->stream = MS_STREAM_OPERATORS;
    all->collected_parameters.count = 0;
    all->collected = 0;
    ms_zero3_note(tape, &all->reduced);
}

void ms_zero3_collect(ms_tape *tape, ms_zero3 *all, uint32_t index)
{
    const ms_zero *zero = &all->parallel->zero;
    uint64_t elements = all->parameters.items[index].elements;
    if (all->collected && all->collected + elements > zero->reduce_bucket_size)
        ms_zero3_reduce(tape, all);
    if (all->bucket && all->collected + elements <= zero->reduce_bucket_size) {
        ms_parameter *parameter = trained(tape, all, index);
        const ms_tensor_info info = *ms_info(tape, parameter->tensor);
        ms_tensor view = ms_alias(tape, all->bucket, info.shape, info.strides);
        ms_retain(tape, view);
        drop_gradient(tape, all, index, true);
        parameter->grad = view;
    }
    all->collected += elements;
    if (!ms_vec_push(&all->collected_parameters, index))
        ms_tape_fail(tape, MS_ERR_NOMEM);
}

/* ---- the update ---- */

static ms_tensor norm_of_group(ms_tape *tape, const ms_zero3 *all, const ms_zero3_group *group)
{
    ms_zero_tensors parts = {0};
    for (uint32_t i = group->first; i < group->end && !ms_idle(tape); i++)
        if (!ms_vec_push(&parts, ms_zero_narrow(tape, all->gradients,
                                                all->parameters.items[all->order.items[i]].shard)))
            ms_tape_fail(tape, MS_ERR_NOMEM);
    ms_tensor norm = ms_zero_norm(tape, &parts);
    ms_zero_drop(tape, &parts);
    ms_vec_free(&parts);
    return norm;
}

/* The gradients of the group's shards, in fp32. */
static void widen(ms_tape *tape, ms_zero3 *all)
{
    const ms_zero3_group *group = &all->groups.items[all->group];
    bool is_wide = all->parallel->zero.accumulates_f32;
    ms_tensor flat = group->end - group->first > 1 && !is_wide
                         ? ms_zero_vector(tape, group->elements, all->dtype, NULL, 0)
                         : 0;
    ms_tensor wide = flat;
    if (all->dtype != MS_DTYPE_F32 || !flat) {
        wide = ms_zero_vector(tape, group->elements, MS_DTYPE_F32, "fp32 gradients",
                              MS_CATEGORY_GRADIENT);
        ms_release(tape, flat);
    }
    tape->parameters.items[group->master].grad = wide;
}

void ms_zero3_prepare_update(ms_tape *tape, ms_zero3 *all)
{
    ms_zero3_release_all(tape, all);
    if (all->parallel->zero.offloads_optimizer) {
        ms_zero3_offload_update(tape, all);
        return;
    }
    for (uint32_t i = 0; i < all->groups.count && !ms_idle(tape); i++)
        if (!ms_vec_push(&all->norms, norm_of_group(tape, all, &all->groups.items[i])))
            ms_tape_fail(tape, MS_ERR_NOMEM);
    all->total = ms_zero_vector(tape, 1, MS_DTYPE_F64, NULL, 0);
    all->previous = all->norm;
    all->norm = ms_zero_vector(tape, 1, MS_DTYPE_F64, "norm of gradients", MS_CATEGORY_TEMPORARY);
    all->group = 0;
    if (all->groups.count)
        widen(tape, all);
}

bool ms_zero3_finish_update(ms_tape *tape, ms_zero3 *all)
{
    if (!all->groups.count || all->parallel->zero.offloads_optimizer || ms_idle(tape))
        return false;
    ms_parameter *master = &tape->parameters.items[all->groups.items[all->group].master];
    ms_tensor grad = master->grad;
    master->grad = 0;
    ms_release(tape, grad);
    if (++all->group < all->groups.count) {
        widen(tape, all);
        return true;
    }
    ms_zero3_gather_persistent(tape, all);
    ms_zero_drop(tape, &all->norms);
    ms_release(tape, all->total);
    ms_release(tape, all->previous);
    all->total = all->previous = 0;
    return false;
}
