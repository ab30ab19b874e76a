/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The optimizer's step of stages 1 and 2: the norm, then an fp32 gradient of the partition, of
 * which the optimizer steps one tensor; the parameters are gathered in place.
 */
#include "parallel/zero/zero.h"

/* torch.cat of the pieces; one piece is a view. */
static ms_tensor flatten(ms_tape *tape, ms_zero12 *all)
{
    if (all->averaged.count > 1)
        return ms_zero_vector(tape, all->partition, all->dtype, "gradients of the partition",
                              MS_CATEGORY_GRADIENT);
    ms_tensor only = all->averaged.count ? all->averaged.items[0] : 0;
    ms_retain(tape, only);
    return only;
}

/* Gradients that are in fp32 already: views of the partition's. */
static void list_wide(ms_tape *tape, ms_zero12 *all)
{
    if (!all->wide)
        all->wide = ms_zero_vector(tape, all->partition, MS_DTYPE_F32, "fp32 gradients",
                                   MS_CATEGORY_GRADIENT);
    for (uint32_t i = 0; i < all->places.count && !ms_idle(tape); i++) {
        uint64_t elements = ms_zero_elements_in_partition(all, i);
        if (elements && !ms_vec_push(&all->averaged, ms_zero_narrow(tape, all->wide, elements)))
            ms_tape_fail(tape, MS_ERR_NOMEM);
    }
}

void ms_zero_prepare_update(ms_tape *tape, ms_zero12 *all)
{
    bool is_wide = all->parallel->zero.accumulates_f32;
    if (is_wide)
        list_wide(tape, all);
    ms_tensor before = all->norm;
    ms_tensor total = ms_zero_norm(tape, &all->averaged);
    all->norm = ms_zero_vector(tape, 1, MS_DTYPE_F32, "norm of gradients", MS_CATEGORY_TEMPORARY);
    ms_tensor flat = is_wide ? all->wide : flatten(tape, all);
    ms_tensor wide = flat;
    all->wide = 0;
    if (!is_wide && all->dtype != MS_DTYPE_F32)
        wide = ms_zero_vector(tape, all->partition, MS_DTYPE_F32, "fp32 gradients",
                              MS_CATEGORY_GRADIENT);
    if (wide != flat)
        ms_release(tape, flat);
    tape->parameters.items[all->master].grad = wide;
    ms_zero_drop(tape, &all->averaged);
    all->total = total;
    all->previous = before;
}

void ms_zero_finish_update(ms_tape *tape, ms_zero12 *all)
{
    uint64_t ranks = all->parallel->layout.shards;
    ms_parameter *master = &tape->parameters.items[all->master];
    ms_tensor grad = master->grad;
    master->grad = 0;
    ms_release(tape, grad);
    uint64_t bytes = all->partition * ms_dtype_bytes(all->dtype) * (ranks - 1);
    ms_work_wait(tape, ms_collective(tape, MS_WORK_ALL_GATHER, all->stream, bytes));
    ms_release(tape, all->total);
    ms_release(tape, all->previous);
    all->total = all->previous = 0;
}
