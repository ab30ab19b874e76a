/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The optimizer's step of stages 1 and 2: the norm, then for each group an fp32 gradient of its
 * partition, of which the optimizer steps one tensor; the parameters are gathered in place.
 */
#include "torch/parallel/zero/zero.h"

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
        uint64_t elements = ms_zero_elements_in_partition(all, all->order.items[i]);
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
