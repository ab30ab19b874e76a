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
#include "measure/scopes.h"

typedef enum ms_fold_mode {
    MS_FOLD_LAYERS, /* groups that agree in everything but the layer share their records */
    MS_UNROLL       /* every group is its own class */
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

static inline void ms_fold_add(ms_fold *fold, uint32_t group, uint64_t value)
{
    fold->hashes[group] = ms_hash_mix(fold->hashes[group] + 1, value);
}

/* Finds the classes. False when out of memory. */
bool ms_fold_close(ms_fold *fold, ms_fold_mode mode);

/* Appends the layers of the class that `group` represents, ascending, once; its class then says
 * where they are. False when out of memory. */
bool ms_fold_list_layers(ms_fold *fold, uint32_t group, ms_layer_numbers *layers);

#endif
