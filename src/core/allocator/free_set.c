/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/allocator/free_set.h"

#include "core/allocator/heap.h"

/* Monotonic in bytes: exact below 8 KiB, then eight bins for each power of two. */
static uint32_t bin_of(uint64_t bytes)
{
    uint64_t units = bytes >> 9 | 1;
    uint32_t log = 63 - (uint32_t)__builtin_clzll(units);
    if (log < 3)
        return (uint32_t)units;
    return (log - 2) * 8 + (uint32_t)(units >> (log - 3) & 7);
}

/* Heap order of the treap: a fixed scramble of the index (golden ratio), so that equal runs give
 * equal trees and blocks made in order still give shallow ones. */
static uint32_t priority(uint32_t block)
{
    return block * 0x9e3779b1u;
}

static int before(const ms_heap_block *block, uint64_t bytes, uint64_t address)
{
    return block->bytes < bytes || (block->bytes == bytes && block->address < address);
}

void ms_free_set_insert(ms_free_set *set, ms_heap_block *blocks, uint32_t block)
{
    ms_heap_block *b = &blocks[block];
    uint32_t bin = bin_of(b->bytes);
    uint32_t *slot = &set->root[bin];
    set->used[bin / 64] |= UINT64_C(1) << bin % 64;
    if (*slot) {
        uint32_t rank = priority(block);
        while (*slot && priority(*slot) > rank) {
            ms_heap_block *at = &blocks[*slot];
            slot = before(at, b->bytes, b->address) ? &at->right : &at->left;
        }
    }
    /* What lies below this place goes to either side of the new block. */
    uint32_t rest = *slot, *low = &b->left, *high = &b->right;
    *slot = block;
    while (rest) {
        ms_heap_block *at = &blocks[rest];
        uint32_t **side = before(at, b->bytes, b->address) ? &low : &high;
        **side = rest;
        *side = side == &low ? &at->right : &at->left;
        rest = **side;
    }
    *low = *high = 0;
}

static uint32_t joined(ms_heap_block *blocks, uint32_t low, uint32_t high)
{
    if (!low || !high)
        return low ? low : high;
    uint32_t root, *slot = &root;
    while (low && high) {
        if (priority(low) > priority(high)) {
            *slot = low;
            slot = &blocks[low].right;
            low = *slot;
        } else {
            *slot = high;
            slot = &blocks[high].left;
            high = *slot;
        }
    }
    *slot = low ? low : high;
    return root;
}

void ms_free_set_remove(ms_free_set *set, ms_heap_block *blocks, uint32_t block)
{
    ms_heap_block *b = &blocks[block];
    uint32_t bin = bin_of(b->bytes);
    uint32_t *slot = &set->root[bin];
    while (*slot != block) {
        ms_heap_block *at = &blocks[*slot];
        slot = before(at, b->bytes, b->address) ? &at->right : &at->left;
    }
    *slot = joined(blocks, b->left, b->right);
    if (!set->root[bin])
        set->used[bin / 64] &= ~(UINT64_C(1) << bin % 64);
}

/* First used bin at or after `bin`; MS_FREE_BINS when there is none. */
static uint32_t used_from(const ms_free_set *set, uint32_t bin)
{
    uint32_t word = bin / 64;
    if (word >= MS_FREE_WORDS)
        return MS_FREE_BINS;
    uint64_t bits = set->used[word] & ~UINT64_C(0) << bin % 64;
    while (!bits) {
        if (++word == MS_FREE_WORDS)
            return MS_FREE_BINS;
        bits = set->used[word];
    }
    return word * 64 + (uint32_t)__builtin_ctzll(bits);
}

/* The blocks of a tree around (bytes, address): the last before it and the first that is not. */
typedef struct around {
    uint32_t before, after;
} around;

static around blocks_around(const ms_heap_block *blocks, uint32_t root, uint64_t bytes,
                            uint64_t address)
{
    around found = {0, 0};
    for (uint32_t at = root; at;) {
        bool is_before = before(&blocks[at], bytes, address);
        found.before = is_before ? at : found.before;
        found.after = is_before ? found.after : at;
        at = is_before ? blocks[at].right : blocks[at].left;
    }
    return found;
}

uint32_t ms_free_set_find(const ms_free_set *set, const ms_heap_block *blocks, uint64_t bytes,
                          uint64_t address)
{
    uint32_t first = bin_of(bytes);
    for (uint32_t bin = used_from(set, first); bin < MS_FREE_BINS; bin = used_from(set, bin + 1)) {
        uint32_t found = blocks_around(blocks, set->root[bin], bytes, address).after;
        if (found)
            return found;
    }
    return 0;
}

ms_free_place ms_free_set_place(ms_free_set *set, ms_heap_block *blocks, uint64_t bytes)
{
    ms_free_place found = {0, 0, NULL};
    for (uint32_t bin = used_from(set, bin_of(bytes)); bin < MS_FREE_BINS && !found.block;
         bin = used_from(set, bin + 1)) {
        found.bin = bin;
        for (uint32_t *slot = &set->root[bin]; *slot;) {
            ms_heap_block *at = &blocks[*slot];
            if (at->bytes >= bytes) {
                found.block = *slot;
                found.slot = slot;
                slot = &at->left;
            } else {
                slot = &at->right;
            }
        }
    }
    return found;
}

void ms_free_set_take(ms_free_set *set, ms_heap_block *blocks, const ms_free_place *place)
{
    const ms_heap_block *b = &blocks[place->block];
    *place->slot = joined(blocks, b->left, b->right);
    if (!set->root[place->bin])
        set->used[place->bin / 64] &= ~(UINT64_C(1) << place->bin % 64);
}

uint32_t ms_free_set_find_before(const ms_free_set *set, const ms_heap_block *blocks,
                                 uint64_t bytes, uint64_t address)
{
    for (uint32_t bin = bin_of(bytes) + 1; bin-- > 0;) {
        uint32_t found = blocks_around(blocks, set->root[bin], bytes, address).before;
        if (found)
            return found;
    }
    return 0;
}
