/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The trace of ZeRO-3: the modules of the first pass in the order in which they ran, and what it
 * says of the uses of parameters that are still to come.
 */
#include "parallel/zero/zero3.h"

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

bool ms_zero3_is_used_soon(const ms_zero3 *all, uint32_t module, uint32_t parameter)
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
