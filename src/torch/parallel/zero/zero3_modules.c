/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Which parameters a module has that ZeRO-3 gathers before it is called, and their memory.
 */
#include "torch/parallel/zero/zero3.h"

#include "torch/autograd/graph.h"
#include "core/trace/build.h"

uint32_t ms_zero3_whole(const ms_zero3 *all)
{
    return all->module_first.count;
}

uint32_t ms_zero3_base_in(const ms_zero3 *all, uint32_t scope)
{
    return 2 * ms_zero3_whole(all) + 1 + scope;
}

uint32_t ms_zero3_own_parameters(const ms_zero3 *all, uint32_t scope, uint32_t *first)
{
    *first = all->module_first.items[scope];
    return *first == MS_NONE ? 0 : all->module_count.items[scope];
}

bool ms_zero3_is_leaf(const ms_zero3 *all, uint32_t module)
{
    return module < all->leaf_of.count && all->leaf_of.items[module] == module;
}

/* The parameters of this module and all modules in it. */
static uint32_t parameters_below(const ms_zero3 *all, uint32_t module, uint32_t *first)
{
    if (module < all->below_first.count) {
        *first = all->below_first.items[module];
        return all->below_count.items[module];
    }
    *first = 0;
    return module == ms_zero3_whole(all) || module > 4 * ms_zero3_whole(all) ? all->parameters.count
                                                                             : 0;
}

bool ms_zero3_is_adapted(const ms_zero3 *all, uint32_t scope)
{
    return scope < all->external.count && all->external.items[scope] != MS_NONE;
}

uint32_t ms_zero3_parameters_in(const ms_zero3 *all, uint32_t module, bool with_those_below,
                                uint32_t *first)
{
    uint32_t scopes = all->module_first.count, base = ms_zero3_base_in(all, 0), count = 0;
    if (module == all->tied_head) {
        *first = all->tied_to;
        return 1;
    }
    if (with_those_below && (module < base || module >= base + scopes))
        return parameters_below(all, module, first);
    if (ms_zero3_is_adapted(all, module)) {
        *first = all->external.items[module];
        return all->is_known.items[module];
    }
    if (module < scopes)
        count = ms_zero3_own_parameters(all, module, first);
    else if (module >= base && module < base + scopes)
        count = ms_zero3_own_parameters(all, module - base, first);
    if (!count)
        *first = 0;
    return count;
}

uint32_t ms_zero3_parameters_of(const ms_zero3 *all, uint32_t module, uint32_t *first)
{
    return ms_zero3_parameters_in(all, module, ms_zero3_is_leaf(all, module), first);
}

/* DeepSpeed's order is that in which parameters became its own: under zero.Init an adapter's are
 * made last. */
static bool is_made_before(const ms_tape *tape, const ms_zero3 *all, uint32_t a, uint32_t b)
{
    bool has_added = tape->in_order.count && all->parallel->zero.init;
    bool is_added = has_added && ms_zero3_is_trained(all, a);
    bool is_other_added = has_added && ms_zero3_is_trained(all, b);
    return is_added != is_other_added ? is_other_added : a < b;
}

void ms_zero3_sort(const ms_tape *tape, const ms_zero3 *all, uint32_t *members, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++)
        for (uint32_t k = i; k > 0 && is_made_before(tape, all, members[k], members[k - 1]); k--) {
            uint32_t member = members[k];
            members[k] = members[k - 1];
            members[k - 1] = member;
        }
}

/* The memory that the parameter gives up, in a tensor that the caller owns; the parameter stays
 * without. */
static ms_tensor take_memory(ms_tape *tape, const ms_zero3_parameter *row)
{
    ms_tensor parameter = row->placed.tensor;
    const ms_shape shape = ms_info(tape, parameter)->shape;
    uint64_t bytes = tape->trace->storages.items[ms_info(tape, parameter)->storage].bytes;
    bool was_meta = tape->is_meta;
    tape->is_meta = true;
    ms_tensor held = ms_empty(tape, shape, (ms_dtype)ms_info(tape, parameter)->dtype);
    if (held)
        ms_storage_empty(tape, held);
    tape->is_meta = was_meta;
    if (!held)
        return 0;
    uint32_t storage = ms_info(tape, held)->storage;
    ms_trace_resize(tape->trace, storage, bytes);
    ms_trace_categorize(tape->trace, storage, MS_CATEGORY_WEIGHT);
    ms_trace_label(tape->trace, storage, row->placed.name, row->placed.scope);
    ms_storage_swap(tape, parameter, held);
    ms_retain(tape, held);
    return held;
}

bool ms_zero3_is_shared(const ms_tape *tape, const ms_zero3_parameter *row)
{
    uint32_t storage = tape->tensors.items[row->placed.tensor].storage;
    return (tape->storage_refs.items[storage] & ~MS_STORAGE_EMPTY) > 1;
}

void ms_zero3_part(ms_tape *tape, const ms_zero3_parameter *row)
{
    ms_release(tape, take_memory(tape, row));
}

void ms_zero3_hold(ms_tape *tape, ms_zero3_parameter *row)
{
    ms_tensor held = take_memory(tape, row);
    ms_release(tape, row->held);
    row->held = held;
}

void ms_zero3_keep(ms_tape *tape, ms_zero3 *all, ms_zero3_parameter *row)
{
    ms_tensor kept = take_memory(tape, row);
    bool is_graphs = row->is_viewed;
    row->is_viewed = false;
    if (!is_graphs) {
        if (!ms_vec_push(&all->kept, kept))
            ms_tape_fail(tape, MS_ERR_NOMEM);
        return;
    }
    ms_graph_hold(tape, kept);
    ms_release(tape, kept);
}

void ms_zero3_drop_kept(ms_tape *tape, ms_zero3 *all)
{
    while (all->kept.count)
        ms_release(tape, all->kept.items[--all->kept.count]);
}
