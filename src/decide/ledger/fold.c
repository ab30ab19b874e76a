/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Classes are found with an open-addressing table from hash to first group, in time linear in the
 * groups.
 */
#include "decide/ledger/fold.h"

#include <stdlib.h>
#include <string.h>

bool ms_fold_init(ms_fold *fold, uint32_t layer_count, uint64_t rows)
{
    memset(fold, 0, sizeof *fold);
    uint64_t count = ((uint64_t)layer_count + 1) * rows;
    if (rows > UINT32_MAX || count >= MS_NONE)
        return false;
    fold->layer_count = layer_count;
    fold->group_count = (uint32_t)count;
    fold->hashes = calloc((size_t)count + 1, sizeof *fold->hashes);
    fold->classes = calloc((size_t)count + 1, sizeof *fold->classes);
    fold->seen_by = calloc((size_t)layer_count + 1, sizeof *fold->seen_by);
    fold->row_repeats = malloc((size_t)(rows ? rows : 1) * sizeof *fold->row_repeats);
    if (!fold->hashes || !fold->classes || !fold->seen_by || !fold->row_repeats) {
        ms_fold_free(fold);
        return false;
    }
    for (uint64_t i = 0; i < rows; i++)
        fold->row_repeats[i] = 1;
    return true;
}

void ms_fold_free(ms_fold *fold)
{
    free(fold->hashes);
    free(fold->classes);
    free(fold->seen_by);
    free(fold->row_repeats);
    memset(fold, 0, sizeof *fold);
}

/* First group with this hash; `group` itself when it is the first. */
static uint32_t find_or_insert(const ms_fold *fold, uint32_t *slots, uint32_t mask, uint32_t group)
{
    uint64_t hash = fold->hashes[group];
    uint32_t slot = (uint32_t)(hash >> 32) & mask;
    for (; slots[slot]; slot = (slot + 1) & mask)
        if (fold->hashes[slots[slot] - 1] == hash)
            return slots[slot] - 1;
    slots[slot] = group + 1;
    return group;
}

static void join_class(ms_fold *fold, uint32_t group, uint32_t representative)
{
    ms_fold_group *first = &fold->classes[representative];
    fold->classes[group].representative = representative;
    fold->classes[group].next = MS_NONE;
    if (group != representative)
        fold->classes[first->last].next = group;
    first->last = group;
    first->count += fold->row_repeats[group / (fold->layer_count + 1)];
}

bool ms_fold_close(ms_fold *fold, ms_fold_mode mode)
{
    uint64_t slot_count = 16;
    while (slot_count < 2 * (uint64_t)fold->group_count)
        slot_count *= 2;
    uint32_t *slots = mode == MS_UNROLL ? NULL : calloc((size_t)slot_count, sizeof *slots);
    if (mode != MS_UNROLL && !slots)
        return false;
    for (uint32_t group = 0; group < fold->group_count; group++) {
        bool alone = !slots || fold->hashes[group] == 0;
        uint32_t first =
            alone ? group : find_or_insert(fold, slots, (uint32_t)(slot_count - 1), group);
        join_class(fold, group, first);
    }
    free(slots);
    return true;
}

static int compare_numbers(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

bool ms_fold_list_layers(ms_fold *fold, uint32_t group, ms_layer_numbers *layers)
{
    ms_fold_group *class = &fold->classes[group];
    if (class->layer_count)
        return true;
    class->first_layers = layers->count;
    bool sorted = true;
    for (uint32_t g = group; g != MS_NONE; g = fold->classes[g].next) {
        uint32_t layer = g % (fold->layer_count + 1);
        if (layer == fold->layer_count || fold->seen_by[layer] == group + 1)
            continue; /* outside the layers, or there from an earlier row */
        fold->seen_by[layer] = group + 1;
        sorted = sorted &&
                 (layers->count == class->first_layers || layers->items[layers->count - 1] < layer);
        if (!ms_vec_push(layers, layer))
            return false;
    }
    class->layer_count = layers->count - class->first_layers;
    if (!sorted)
        qsort(layers->items + class->first_layers, class->layer_count, sizeof *layers->items,
              compare_numbers);
    return true;
}
