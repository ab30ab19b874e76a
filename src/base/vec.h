/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Growable array: `ms_vec(type) v = {0};`, then ms_vec_push, ms_vec_free. Items are plain data and
 * move when the array grows: keep indices, not pointers.
 */
#ifndef MS_BASE_VEC_H
#define MS_BASE_VEC_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#define ms_vec(type)                                                                               \
    struct {                                                                                       \
        type *items;                                                                               \
        uint32_t count, capacity;                                                                  \
    }

/* Makes room for one more item; false when out of memory or past 2^32 - 2 items. */
#define ms_vec_reserve(v)                                                                          \
    ((v)->count < (v)->capacity ||                                                                 \
     ms_vec_grow((void **)&(v)->items, &(v)->capacity, sizeof *(v)->items))

/* Appends; false when out of memory, and then the array is unchanged. */
#define ms_vec_push(v, ...)                                                                        \
    (ms_vec_reserve(v) ? ((v)->items[(v)->count++] = (__VA_ARGS__), true) : false)

/* Reserves room for `n` items; pages are touched only when items are added. False when out of
 * memory. */
#define ms_vec_expect(v, n)                                                                        \
    ms_vec_enlarge((void **)&(v)->items, &(v)->capacity, (n), sizeof *(v)->items)

#define ms_vec_free(v) (free((v)->items), (v)->items = NULL, (v)->count = (v)->capacity = 0)

bool ms_vec_grow(void **items, uint32_t *capacity, size_t item_size);
bool ms_vec_enlarge(void **items, uint32_t *capacity, uint64_t wanted, size_t item_size);

#endif
