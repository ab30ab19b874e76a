/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Modules of a trace by layer, and hashes that are equal for the same module of different layers.
 */
#ifndef MS_RUN_MEASURE_SCOPES_H
#define MS_RUN_MEASURE_SCOPES_H

#include <stdint.h>

#include "core/trace/trace.h"

static inline uint64_t ms_hash_mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ (hash >> 29);
}

/* One hash per module, without the layer number. The caller frees the array; NULL when out of
 * memory. */
uint64_t *ms_scope_hashes_create(const ms_trace *trace);

/* The number of layers: one more than the highest layer number. */
uint32_t ms_trace_layer_count(const ms_trace *trace);

/* The layer of a module, or `outside`. */
static inline uint32_t ms_trace_scope_layer(const ms_trace *trace, uint32_t scope, uint32_t outside)
{
    if (scope == MS_NONE || trace->scopes.items[scope].layer == MS_NONE)
        return outside;
    return trace->scopes.items[scope].layer;
}

#endif
