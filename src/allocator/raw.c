/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Raw: bytes as requested, without rounding or pools, as a CPU run of PyTorch counts them.
 */
#include "allocator/state.h"

static ms_status allocate(ms_allocator *allocator, uint64_t bytes, uint32_t stream, ms_block *block)
{
    (void)stream;
    if (bytes > MS_MEMORY_END - allocator->stats.allocated_bytes)
        return MS_ERR_OVERFLOW;
    if (!ms_allocator_has_room(allocator, bytes))
        return MS_ERR_OVER_BUDGET;
    if (!ms_heap_reserve(&allocator->heap, 1))
        return MS_ERR_NOMEM;
    *block = ms_heap_take_row(&allocator->heap);
    ms_heap_block *b = &allocator->heap.blocks.items[*block];
    b->bytes = bytes;
    b->address = allocator->heap.next_address; /* never used again: nothing is cached; no memory */
    allocator->heap.next_address += bytes;
    ms_allocator_book_out(allocator, *block, bytes);
    allocator->stats.reserved_bytes = allocator->stats.allocated_bytes;
    return MS_OK;
}

static void release(ms_allocator *allocator, ms_block block)
{
    ms_allocator_book_in(allocator, block);
    allocator->stats.reserved_bytes = allocator->stats.allocated_bytes;
    ms_heap_drop_row(&allocator->heap, block);
}

const ms_allocator_ops ms_allocator_raw = {allocate, release, NULL};
