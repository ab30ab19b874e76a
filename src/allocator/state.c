/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "allocator/state.h"

/* With d divisions a request is rounded up to a d-th of the power of two below it. */
static uint64_t round_by_divisions(uint64_t bytes, uint32_t divisions)
{
    uint32_t log = 63 - (uint32_t)__builtin_clzll(bytes);
    uint32_t log_divisions = 31 - (uint32_t)__builtin_clz(divisions);
    uint64_t step = UINT64_C(1) << (log - log_divisions);
    return (bytes + step - 1) & ~(step - 1);
}

uint64_t ms_allocator_round(const ms_allocator *allocator, uint64_t bytes)
{
    uint32_t divisions = allocator->options.roundup_power2_divisions;
    if (bytes > MS_MEMORY_END)
        return 0;
    if (divisions > 1 && bytes > MS_MIN_BLOCK_BYTES * divisions)
        return round_by_divisions(bytes, divisions);
    return (bytes + MS_MIN_BLOCK_BYTES - 1) & ~(MS_MIN_BLOCK_BYTES - 1);
}

void ms_allocator_book_out(ms_allocator *allocator, uint32_t block, uint64_t requested_bytes)
{
    ms_heap_block *b = &allocator->heap.blocks.items[block];
    b->requested_bytes = requested_bytes;
    allocator->stats.allocated_bytes += b->bytes;
    allocator->stats.requested_bytes += requested_bytes;
}

void ms_allocator_book_in(ms_allocator *allocator, uint32_t block)
{
    const ms_heap_block *b = &allocator->heap.blocks.items[block];
    allocator->stats.allocated_bytes -= b->bytes;
    allocator->stats.requested_bytes -= b->requested_bytes;
}

bool ms_allocator_has_room(const ms_allocator *allocator, uint64_t bytes)
{
    uint64_t capacity = allocator->options.capacity_bytes;
    uint64_t reserved = allocator->stats.reserved_bytes;
    return !capacity || (reserved <= capacity && bytes <= capacity - reserved);
}

uint64_t ms_allocator_max_split_bytes(const ms_allocator *allocator)
{
    uint64_t limit = allocator->options.max_split_size_bytes;
    return limit ? limit : UINT64_MAX;
}

bool ms_allocator_may_use(const ms_allocator *allocator, uint64_t bytes, uint64_t block_bytes)
{
    uint64_t limit = ms_allocator_max_split_bytes(allocator);
    if (bytes < limit)
        return block_bytes < limit;
    return block_bytes - bytes < MS_MAX_NON_SPLIT_ROUNDING_BYTES;
}

uint64_t ms_allocator_return_block(ms_allocator *allocator, uint32_t block)
{
    ms_heap *heap = &allocator->heap;
    const ms_heap_block *blocks = heap->blocks.items;
    uint32_t prev = blocks[block].prev, next = blocks[block].next;
    uint64_t joined_bytes = 0;
    if (prev && blocks[prev].state == MS_BLOCK_FREE) {
        joined_bytes += blocks[prev].bytes;
        ms_heap_make_held(heap, prev);
        ms_heap_absorb_prev(heap, block);
    }
    if (next && blocks[next].state == MS_BLOCK_FREE) {
        joined_bytes += blocks[next].bytes;
        ms_heap_make_held(heap, next);
        ms_heap_absorb_next(heap, block);
    }
    ms_heap_make_free(heap, block);
    return joined_bytes;
}
