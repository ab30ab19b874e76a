/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The free blocks of one pool, ordered by (bytes, address). Blocks are indices into the heap's
 * table and carry the links, so nothing here allocates. Sizes are divided into bins, each a treap:
 * a typical bin has a handful of blocks, and a search among 10^5 equal ones still takes logarithmic
 * time.
 */
#ifndef MS_CORE_ALLOCATOR_FREE_SET_H
#define MS_CORE_ALLOCATOR_FREE_SET_H

#include <stdint.h>

/* Eight bins for each power of two, from 512 bytes to 2^64. */
enum { MS_FREE_BINS = 424, MS_FREE_WORDS = (MS_FREE_BINS + 63) / 64 };

typedef struct ms_free_set {
    uint64_t used[MS_FREE_WORDS]; /* a bit per bin that has blocks */
    uint32_t root[MS_FREE_BINS];  /* 0 = empty */
} ms_free_set;

struct ms_heap_block;

void ms_free_set_insert(ms_free_set *set, struct ms_heap_block *blocks, uint32_t block);
void ms_free_set_remove(ms_free_set *set, struct ms_heap_block *blocks, uint32_t block);

/* The first block at or after (bytes, address); 0 when there is none. */
uint32_t ms_free_set_find(const ms_free_set *set, const struct ms_heap_block *blocks,
                          uint64_t bytes, uint64_t address);

/* Where a block is in the set, until the set or the table of blocks changes. */
typedef struct ms_free_place {
    uint32_t block; /* 0: there is none */
    uint32_t bin;
    uint32_t *slot;
} ms_free_place;

/* The first block of at least so many bytes. */
ms_free_place ms_free_set_place(ms_free_set *set, struct ms_heap_block *blocks, uint64_t bytes);
/* Removes the block that is there. */
void ms_free_set_take(ms_free_set *set, struct ms_heap_block *blocks, const ms_free_place *place);

/* The last block before (bytes, address); 0 when there is none. */
uint32_t ms_free_set_find_before(const ms_free_set *set, const struct ms_heap_block *blocks,
                                 uint64_t bytes, uint64_t address);

#endif
