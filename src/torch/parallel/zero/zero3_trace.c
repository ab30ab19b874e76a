/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The trace of ZeRO-3: the modules of the first pass in the order in which they ran, and what it
 * says of the uses of parameters that are still to come.
 */
#include "torch/parallel/zero/zero3.h"

void ms_zero3_list_uses(ms_tape *tape, ms_zero3 *all)
{
    for (uint32_t i = 0; i < all->modules.count; i++) {
        uint32_t first, count = ms_zero3_parameters_of(all, all->modules.items[i], &first);
        for (uint32_t k = first; k < first + count; k++)
            if (!ms_vec_push(&all->uses, (ms_zero3_use){k, i}))
                ms_tape_fail(tape, MS_ERR_NOMEM);
    }
}

void ms_zero3_pass_uses(ms_zero3 *all, uint32_t first, uint32_t count)
{
    uint32_t wanted = 0;
    for (uint32_t i = first; i < first + count; i++)
        wanted += all->parameters.items[i].fetched_for < all->step;
    for (; wanted && all->next_use < all->uses.count; wanted--) {
        const ms_zero3_use *use = &all->uses.items[all->next_use++];
        all->parameters.items[use->parameter].fetched_for = use->step;
    }
}

/* A leaf module that is left counts all parameters in the modules that come, others each module's
 * own. */
static bool is_used_soon(const ms_zero3 *all, uint32_t module, uint32_t parameter)
{
    if (all->parameters.items[parameter].fetched_for > all->step)
        return true;
    bool is_leaf = ms_zero3_is_leaf(all, module);
    uint64_t passed = 0;
    for (uint32_t i = (uint32_t)all->step; i < all->modules.count; i++) {
        if (passed >= all->parallel->zero.max_reuse_distance)
            return false;
        uint32_t first;
        uint32_t count = ms_zero3_parameters_in(all, all->modules.items[i], is_leaf, &first);
        for (uint32_t k = first; k < first + count; k++) {
            if (k == parameter)
                return true;
            passed += all->parameters.items[k].elements;
        }
    }
    return false;
}

/* The first decision of a step that is not before this one. */
static uint32_t first_of_step(const ms_zero3 *all, int64_t step)
{
    uint32_t low = 0, high = all->decisions.count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (all->decisions.items[middle].step < step)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool ms_zero3_stays(ms_tape *tape, ms_zero3 *all, uint32_t module, uint32_t parameter)
{
    const int64_t step = all->step;
    uint32_t count = all->decisions.count;
    for (uint32_t i = first_of_step(all, step); i < count; i++) {
        const ms_zero3_decision *d = &all->decisions.items[i];
        if (d->step != step)
            break;
        if (d->module == module && d->parameter == parameter)
            return d->stays;
    }
    const bool stays =
        all->parameters.items[parameter].persists || is_used_soon(all, module, parameter);
    const ms_zero3_decision made = {step, module, parameter, stays};
    const bool is_next = !count || all->decisions.items[count - 1].step <= step;
    if (is_next && !ms_vec_push(&all->decisions, made))
        ms_tape_fail(tape, MS_ERR_NOMEM);
    return stays;
}

uint64_t ms_zero3_room(const ms_zero3 *all)
{
    uint64_t most = all->parallel->zero.max_live_parameters;
    if (all->available <= 0)
        return most;
    uint64_t live = (uint64_t)all->available;
    return most > live ? most - live : 0;
}
