/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Blocks and pools, shared by the two CUDA allocators. Segments are chains of blocks; a pool
 * belongs to one stream and one size class and lists its free blocks. Owned by the allocator.
 */
#ifndef MS_CORE_ALLOCATOR_HEAP_H
#define MS_CORE_ALLOCATOR_HEAP_H

#include <stdbool.h>
#include <stdint.h>

#include "core/allocator/free_set.h"
#include "core/allocator/memory.h"
#include "base/vec.h"

typedef enum ms_block_state {
    MS_BLOCK_SPARE,   /* an unused row of the table */
    MS_BLOCK_FREE,    /* in its pool's free set */
    MS_BLOCK_HELD,    /* handed out, or between two states */
    MS_BLOCK_WAITING, /* released, but another stream still uses it */
    MS_BLOCK_UNMAPPED /* address space without memory behind it (expandable segments) */
} ms_block_state;

typedef struct ms_heap_block {
    uint64_t address, bytes;
    uint64_t requested_bytes; /* of a held block */
    uint32_t prev, next;      /* neighbours in the segment; 0 = none */
    uint32_t left, right;     /* in the free set; `right` links the spare rows */
    uint32_t pool;
    uint16_t state;        /* ms_block_state */
    uint16_t stream_count; /* other streams that use it */
} ms_heap_block;

typedef enum ms_pool_kind { MS_POOL_SMALL, MS_POOL_LARGE } ms_pool_kind;

typedef struct ms_heap_pool {
    uint32_t stream;
    ms_pool_kind kind;
    ms_free_set free;
    ms_vec(uint32_t) unmapped; /* unmapped blocks by address (expandable segments) */
} ms_heap_pool;

typedef struct ms_heap {
    ms_vec(ms_heap_block) blocks; /* row 0 means "none" */
    ms_vec(ms_heap_pool) pools;
    uint32_t spare, spare_count;   /* chain of unused rows */
    ms_memory memory;              /* where segments come from */
    ms_memory_kind memory_kind;    /* of the segments */
    ms_memory_addresses addresses; /* of segments, with simulated memory */
    uint64_t segment_changes;      /* how often one was added or given back */
} ms_heap;

/* Uses simulated memory, of this order of addresses, if `memory` is NULL. The heap must not be
 * moved afterwards. False when out of memory. */
bool ms_heap_init(ms_heap *heap, ms_address_order order, const ms_memory *memory);
/* Releases all segments. */
void ms_heap_free(ms_heap *heap);

/* Reserves rows for the next `count` new blocks; false when out of memory. */
bool ms_heap_add_rows(ms_heap *heap, uint32_t count);
static inline bool ms_heap_reserve(ms_heap *heap, uint32_t count)
{
    return heap->spare_count >= count || ms_heap_add_rows(heap, count);
}

/* The pool of a stream and size class, created on first use; MS_HEAP_NO_POOL when out of memory. */
#define MS_HEAP_NO_POOL UINT32_MAX
uint32_t ms_heap_add_pool(ms_heap *heap, uint32_t stream, ms_pool_kind kind);
static inline uint32_t ms_heap_pool_of(ms_heap *heap, uint32_t stream, ms_pool_kind kind)
{
    for (uint32_t i = 0; i < heap->pools.count; i++)
        if (heap->pools.items[i].kind == kind && heap->pools.items[i].stream == stream)
            return i;
    return ms_heap_add_pool(heap, stream, kind);
}

/* A new row, zeroed, in state MS_BLOCK_HELD. Its room must have been reserved. */
static inline uint32_t ms_heap_take_row(ms_heap *heap)
{
    uint32_t block = heap->spare;
    heap->spare = heap->blocks.items[block].right;
    heap->spare_count--;
    heap->blocks.items[block] = (ms_heap_block){.state = MS_BLOCK_HELD};
    return block;
}

static inline void ms_heap_drop_row(ms_heap *heap, uint32_t block)
{
    heap->blocks.items[block].state = MS_BLOCK_SPARE;
    heap->blocks.items[block].right = heap->spare;
    heap->spare = block;
    heap->spare_count++;
}

/* Adds a segment: one held block. Fails as the memory source does; nothing is added then. */
ms_status ms_heap_add_segment(ms_heap *heap, uint32_t pool, ms_memory_kind kind, uint64_t bytes,
                              uint32_t *block);
/* Releases a held block that is a whole segment. */
void ms_heap_drop_segment(ms_heap *heap, uint32_t block);

/* Splits a block; the row keeps the front. Returns the rest, which has the same state but is in no
 * free set yet. */
uint32_t ms_heap_cut(ms_heap *heap, uint32_t block, uint64_t front_bytes);

/* Merges a block that is in no free set with a neighbour; the neighbour's row is dropped. */
void ms_heap_absorb_prev(ms_heap *heap, uint32_t block);
void ms_heap_absorb_next(ms_heap *heap, uint32_t block);

/* Move a block into or out of its pool's free set and update its state. */
static inline void ms_heap_make_free(ms_heap *heap, uint32_t block)
{
    ms_heap_block *b = &heap->blocks.items[block];
    b->state = MS_BLOCK_FREE;
    ms_free_set_insert(&heap->pools.items[b->pool].free, heap->blocks.items, block);
}

static inline void ms_heap_make_held(ms_heap *heap, uint32_t block)
{
    ms_heap_block *b = &heap->blocks.items[block];
    b->state = MS_BLOCK_HELD;
    ms_free_set_remove(&heap->pools.items[b->pool].free, heap->blocks.items, block);
}

static inline bool ms_heap_is_split(const ms_heap_block *block)
{
    return block->prev || block->next;
}

#endif
