/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run/measure/scopes.h"

#include <stdlib.h>

static uint64_t hash_text(const char *text)
{
    uint64_t hash = 0;
    for (; *text; text++)
        hash = ms_hash_mix(hash, (unsigned char)*text);
    return hash;
}

uint64_t *ms_scope_hashes_create(const ms_trace *trace)
{
    uint32_t count = trace->scopes.count;
    uint64_t *hashes = malloc((count ? count : 1) * sizeof *hashes);
    if (!hashes)
        return NULL;
    for (uint32_t i = 0; i < count; i++) {
        const ms_scope *scope = &trace->scopes.items[i];
        bool inside = scope->parent != MS_NONE;
        uint64_t parent = inside ? hashes[scope->parent] : 1;
        bool is_layer = inside && scope->layer != MS_NONE &&
                        trace->scopes.items[scope->parent].layer == MS_NONE;
        uint64_t own = is_layer ? 2 : hash_text(trace->names.items[scope->name]);
        hashes[i] = ms_hash_mix(parent, own);
    }
    return hashes;
}

uint32_t ms_trace_layer_count(const ms_trace *trace)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < trace->scopes.count; i++) {
        uint32_t layer = trace->scopes.items[i].layer;
        if (layer != MS_NONE && layer >= count)
            count = layer + 1;
    }
    return count;
}
