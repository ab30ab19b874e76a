/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/vec.h"

bool ms_vec_enlarge(void **items, uint32_t *capacity, uint64_t wanted, size_t item_size)
{
    if (wanted > UINT32_MAX - 1)
        wanted = UINT32_MAX - 1;
    if (wanted <= *capacity)
        return true;
    if (wanted > SIZE_MAX / item_size)
        return false;
    void *grown = realloc(*items, (size_t)wanted * item_size);
    if (!grown)
        return false;
    *items = grown;
    *capacity = (uint32_t)wanted;
    return true;
}

bool ms_vec_grow(void **items, uint32_t *capacity, size_t item_size)
{
    uint64_t wanted = *capacity ? 2 * (uint64_t)*capacity : 16;
    return *capacity < UINT32_MAX - 1 && ms_vec_enlarge(items, capacity, wanted, item_size);
}
