/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Folding: groups (such as a layer in a micro-step) whose contents are equal except for the layer
 * number form one class. Contents are compared by a 64-bit hash per group.
 */
#ifndef MS_DECIDE_LEDGER_FOLD_H
#define MS_DECIDE_LEDGER_FOLD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "run/measure/scopes.h"

typedef enum ms_fold_mode {
    MS_FOLD_LAYERS, /* groups that are equal except for the layer share records */
    MS_UNROLL       /* every group is a separate class */
} ms_fold_mode;

typedef ms_vec(uint32_t) ms_layer_numbers;

typedef struct ms_fold_group {
    uint32_t representative;            /* first group of this group's class */
    uint32_t next;                      /* next group of the class, or MS_NONE */
    uint32_t last, count;               /* of a representative: last group, sum of row_repeats */
    uint32_t first_layers, layer_count; /* of a representative: its layers in the list */
} ms_fold_group;

/* Group number = layer + row * n; the last column of a row is outside the layers. */
typedef struct ms_fold {
    uint64_t *hashes;       /* per group; 0 = empty */
    ms_fold_group *classes; /* per group, after ms_fold_close */
    uint32_t *seen_by;      /* per layer */
    uint32_t *row_repeats;  /* per row: number of rows it represents; default 1 */
    uint32_t group_count, layer_count;
} ms_fold;

/* For the groups of `rows` rows; false when out of memory. */
bool ms_fold_init(ms_fold *fold, uint32_t layer_count, uint64_t rows);
void ms_fold_free(ms_fold *fold);

static inline void ms_fold_add(ms_fold *fold, uint32_t group, uint64_t value)
{
    fold->hashes[group] = ms_hash_mix(fold->hashes[group] + 1, value);
}

/* Finds the classes. False when out of memory. */
bool ms_fold_close(ms_fold *fold, ms_fold_mode mode);

/* Appends the layers of the class that `group` represents, ascending, and records their position in
 * the class; only once. False when out of memory. */
bool ms_fold_list_layers(ms_fold *fold, uint32_t group, ms_layer_numbers *layers);

#endif
