/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Lifetimes: the events between which each storage is alive.
 */
#ifndef MS_RUN_MEASURE_LIFETIME_H
#define MS_RUN_MEASURE_LIFETIME_H

#include <stdbool.h>
#include <stdint.h>

#include "core/trace/trace.h"

typedef struct ms_lifetime {
    uint32_t birth, death; /* event of the allocation and of the free; MS_NONE = never */
} ms_lifetime;

/* One per storage of the trace; the caller frees the array. NULL when out of memory. */
ms_lifetime *ms_lifetimes_create(const ms_trace *trace);

/* Whether the storage is alive after `event`. */
static inline bool ms_lifetime_covers(ms_lifetime lifetime, uint32_t event)
{
    return lifetime.birth <= event && event < lifetime.death;
}

/* Whether the bytes requested at one time exceed the capacity, so that no allocator can succeed. */
bool ms_lifetimes_exceed(const ms_trace *trace, uint64_t capacity_bytes);
/* The most bytes requested at one time in the phases of the steps, after the build. */
uint64_t ms_lifetimes_most(const ms_trace *trace);

#endif
