/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "hardware/nulldevice/ranges.h"

#include <stdlib.h>
#include <string.h>

size_t ms_null_ranges_at(const ms_null_ranges *ranges, uintptr_t address)
{
    size_t low = 0, high = ranges->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const ms_null_range *range = &ranges->items[middle];
        if (range->start + range->bytes <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

ms_null_range *ms_null_ranges_find(const ms_null_ranges *ranges, uintptr_t address)
{
    size_t at = ms_null_ranges_at(ranges, address);
    return at < ranges->count && ranges->items[at].start <= address ? &ranges->items[at] : NULL;
}

bool ms_null_ranges_insert(ms_null_ranges *ranges, ms_null_range range)
{
    if (ranges->count == ranges->capacity) {
        size_t capacity = ranges->capacity ? 2 * ranges->capacity : 256;
        ms_null_range *items = realloc(ranges->items, capacity * sizeof *items);
        if (!items)
            return false;
        ranges->items = items;
        ranges->capacity = capacity;
    }
    size_t at = ms_null_ranges_at(ranges, range.start);
    memmove(&ranges->items[at + 1], &ranges->items[at], (ranges->count - at) * sizeof range);
    ranges->items[at] = range;
    ranges->count++;
    return true;
}

void ms_null_ranges_remove(ms_null_ranges *ranges, size_t index)
{
    ranges->count--;
    memmove(&ranges->items[index], &ranges->items[index + 1],
            (ranges->count - index) * sizeof ranges->items[0]);
}
