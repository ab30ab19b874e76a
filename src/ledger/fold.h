/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Folding: groups (a layer in a micro-step, say) whose contents agree in everything but the layer
 * number become one class. Contents are hashed as they pass by, 64 bits per group; no second look.
 */
#ifndef MS_LEDGER_FOLD_H
#define MS_LEDGER_FOLD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "trace/trace.h"

typedef enum ms_fold_mode {
    MS_FOLD_EVERYTHING, /* no records and no timeline: the peak, the time and the summary alone */
    MS_FOLD_LAYERS,     /* groups that agree in everything but the layer share their records */
    MS_UNROLL           /* every group is its own class */
} ms_fold_mode;

typedef ms_vec(uint32_t) ms_layer_numbers;

typedef struct ms_fold_group {
    uint32_t representative;            /* first group of the class this group is in */
    uint32_t next;                      /* next group of the class, or MS_NONE */
    uint32_t last, count;               /* of a representative: last group, sum of row_repeats */
    uint32_t first_layers, layer_count; /* of a representative: where its layers were written */
} ms_fold_group;

/* Group number = layer + row * n; the last column of a row is what lies outside the layers. */
typedef struct ms_fold {
    uint64_t *hashes;       /* per group; 0 = nothing in it */
    ms_fold_group *classes; /* per group, after ms_fold_close */
    uint32_t *seen_by;      /* per layer */
    uint32_t *row_repeats;  /* per row: how many rows it stands for; 1 unless it is set */
    uint32_t group_count, layer_count;
} ms_fold;

/* Groups of `rows` rows; false when out of memory. */
bool ms_fold_init(ms_fold *fold, uint32_t layer_count, uint64_t rows);
void ms_fold_free(ms_fold *fold);

static inline uint64_t ms_hash_mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ (hash >> 29);
}

static inline void ms_fold_add(ms_fold *fold, uint32_t group, uint64_t value)
{
    fold->hashes[group] = ms_hash_mix(fold->hashes[group] + 1, value);
}

/* Finds the classes. False when out of memory. */
bool ms_fold_close(ms_fold *fold, ms_fold_mode mode);

/* Appends the layers of the class that `group` represents, ascending, once; its class then says
 * where they are. False when out of memory. */
bool ms_fold_list_layers(ms_fold *fold, uint32_t group, ms_layer_numbers *layers);

/* One hash per module that leaves the layer's number out, on the heap; NULL when out of memory. */
uint64_t *ms_scope_hashes_create(const ms_trace *trace);

/* Layers of the trace: one more than the highest number. */
uint32_t ms_trace_layer_count(const ms_trace *trace);

/* The layer a module lies in, or `outside`. */
static inline uint32_t ms_scope_layer(const ms_trace *trace, uint32_t scope, uint32_t outside)
{
    if (scope == MS_NONE || trace->scopes.items[scope].layer == MS_NONE)
        return outside;
    return trace->scopes.items[scope].layer;
}

#endif
