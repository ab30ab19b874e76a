/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Disjoint ranges of addresses, ascending. Not locked; the owner locks.
 */
#ifndef MS_HARDWARE_NULLDEVICE_RANGES_H
#define MS_HARDWARE_NULLDEVICE_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ms_null_range {
    uintptr_t start;
    uint64_t bytes;
    void *data; /* for the owner */
} ms_null_range;

typedef struct ms_null_ranges {
    ms_null_range *items;
    size_t count, capacity;
} ms_null_ranges;

/* The index of the first range that ends above the address; `count` when there is none. */
size_t ms_null_ranges_at(const ms_null_ranges *ranges, uintptr_t address);
/* The range that contains the address, or NULL. */
ms_null_range *ms_null_ranges_find(const ms_null_ranges *ranges, uintptr_t address);
/* False when out of memory. */
bool ms_null_ranges_insert(ms_null_ranges *ranges, ms_null_range range);
void ms_null_ranges_remove(ms_null_ranges *ranges, size_t index);

#endif
