/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Raw: bytes as requested, without rounding or pools, as a CPU run of PyTorch counts them.
 */
#include "core/allocator/state.h"

/* A range of its own from a source with memory. Simulated addresses are only counted: nothing is
 * cached, so none comes again. */
static ms_status find_address(ms_heap *heap, uint64_t bytes, uint32_t stream, uint64_t *address)
{
    const ms_memory *memory = &heap->memory;
    if (memory->release)
        return memory->reserve(memory->context, MS_MEMORY_BACKED, bytes, stream, address);
    *address = heap->addresses.above;
    heap->addresses.above += bytes;
    return MS_OK;
}

static ms_status allocate(ms_allocator *allocator, uint64_t bytes, uint32_t stream, ms_block *block)
{
    uint64_t address = 0;
    if (bytes > MS_MEMORY_END - allocator->stats.allocated_bytes)
        return MS_ERR_OVERFLOW;
    if (!ms_allocator_has_room(allocator, bytes))
        return MS_ERR_OVER_BUDGET;
    if (!ms_heap_reserve(&allocator->heap, 1))
        return MS_ERR_NOMEM;
    ms_status status = find_address(&allocator->heap, bytes, stream, &address);
    if (status != MS_OK)
        return status;
    *block = ms_heap_take_row(&allocator->heap);
    ms_heap_block *b = &allocator->heap.blocks.items[*block];
    b->bytes = bytes;
    b->address = address;
    ms_allocator_book_out(allocator, *block, bytes);
    allocator->stats.reserved_bytes = allocator->stats.allocated_bytes;
    return MS_OK;
}

static void release(ms_allocator *allocator, ms_block block)
{
    ms_allocator_book_in(allocator, block);
    allocator->stats.reserved_bytes = allocator->stats.allocated_bytes;
    ms_heap_drop_segment(&allocator->heap, block);
}

const ms_allocator_ops ms_allocator_raw = {allocate, release, NULL};
