/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/allocator/state.h"

/* With d divisions a request is rounded up to a d-th of the power of two below it. */
uint64_t ms_allocator_round_by_divisions(uint64_t bytes, uint32_t divisions)
{
    uint32_t log = 63 - (uint32_t)__builtin_clzll(bytes);
    uint32_t log_divisions = 31 - (uint32_t)__builtin_clz(divisions);
    uint64_t step = UINT64_C(1) << (log - log_divisions);
    return (bytes + step - 1) & ~(step - 1);
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
