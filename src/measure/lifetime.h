/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Lifetimes: from which event to which event each storage is alive.
 */
#ifndef MS_MEASURE_LIFETIME_H
#define MS_MEASURE_LIFETIME_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/trace.h"

typedef struct ms_lifetime {
    uint32_t birth, death; /* event of the allocation and of the free; MS_NONE = never */
} ms_lifetime;

/* One per storage of the trace, on the heap; NULL when out of memory. */
ms_lifetime *ms_lifetimes_create(const ms_trace *trace);

/* Is it alive after `event` happened? */
static inline bool ms_lifetime_covers(ms_lifetime lifetime, uint32_t event)
{
    return lifetime.birth <= event && event < lifetime.death;
}

/* Whether more is asked for at once than there is; then no allocator does without more. */
bool ms_lifetimes_exceed(const ms_trace *trace, uint64_t capacity_bytes);

#endif
