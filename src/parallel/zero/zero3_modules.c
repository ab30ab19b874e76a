/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Which parameters a module has that ZeRO-3 gathers before it is called.
 */
#include "parallel/zero/zero3.h"

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

bool ms_zero3_is_adapted(const ms_zero3 *all, uint32_t scope)
{
    return scope < all->external.count && all->external.items[scope] != MS_NONE;
}

uint32_t ms_zero3_parameters_of(const ms_zero3 *all, uint32_t module, uint32_t *first)
{
    uint32_t scopes = all->module_first.count, base = ms_zero3_base_in(all, 0), count = 0;
    if (module == all->tied_head) {
        *first = all->tied_to;
        return 1;
    }
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
