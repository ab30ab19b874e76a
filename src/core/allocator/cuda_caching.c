/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * PyTorch's CUDA caching allocator (native backend): best fit in segments that stay reserved.
 */
#include "core/allocator/state.h"

static uint64_t segment_bytes_of(uint64_t bytes)
{
    if (bytes <= MS_SMALL_BYTES)
        return MS_SMALL_SEGMENT_BYTES;
    if (bytes < MS_MIN_OWN_SEGMENT_BYTES)
        return MS_LARGE_SEGMENT_BYTES;
    return (bytes + MS_ROUND_LARGE_BYTES - 1) & ~(MS_ROUND_LARGE_BYTES - 1);
}

/* Takes the best free block out of its pool; 0 when a new segment is needed. */
static uint32_t take_cached(ms_allocator *allocator, uint32_t pool, uint64_t bytes)
{
    ms_heap_block *blocks = allocator->heap.blocks.items;
    ms_free_set *set = &allocator->heap.pools.items[pool].free;
    const ms_free_place place = ms_free_set_place(set, blocks, bytes);
    if (!place.block || !ms_allocator_may_use(allocator, bytes, blocks[place.block].bytes))
        return 0;
    ms_free_set_take(set, blocks, &place);
    blocks[place.block].state = MS_BLOCK_HELD;
    return place.block;
}

/* Gives a free block that is a whole segment back to the device. */
static void release_segment(ms_allocator *allocator, uint32_t block)
{
    ms_heap_make_held(&allocator->heap, block);
    allocator->stats.reserved_bytes -= allocator->heap.blocks.items[block].bytes;
    ms_heap_drop_segment(&allocator->heap, block);
}

/* With max_split_size set, oversize blocks of this pool go back first: one that is large enough,
 * or the largest ones until their sum is. */
static bool release_oversize(ms_allocator *allocator, uint32_t pool, uint64_t bytes)
{
    ms_heap *heap = &allocator->heap;
    uint64_t limit = ms_allocator_max_split_bytes(allocator), released = 0;
    if (limit == UINT64_MAX)
        return false;
    const ms_free_set *set = &heap->pools.items[pool].free;
    uint64_t wanted = bytes < limit ? limit : bytes;
    uint32_t block = ms_free_set_find(set, heap->blocks.items, wanted, 0);
    if (block) {
        release_segment(allocator, block);
        return true;
    }
    while (released < wanted) {
        block = ms_free_set_find_before(set, heap->blocks.items, wanted, 0);
        if (!block || heap->blocks.items[block].bytes < limit)
            return false;
        released += heap->blocks.items[block].bytes;
        release_segment(allocator, block);
    }
    return true;
}

static bool release_all(ms_allocator *allocator)
{
    for (uint32_t i = 1; i < allocator->heap.blocks.count; i++) {
        const ms_heap_block *b = &allocator->heap.blocks.items[i];
        if (b->state == MS_BLOCK_FREE && !ms_heap_is_split(b))
            release_segment(allocator, i);
    }
    return true;
}

static ms_status reserve(ms_allocator *allocator, uint32_t pool, uint64_t bytes, uint32_t *block)
{
    if (!ms_allocator_has_room(allocator, bytes))
        return MS_ERR_OVER_BUDGET;
    ms_status status = ms_heap_add_segment(&allocator->heap, pool, MS_MEMORY_BACKED, bytes, block);
    if (status == MS_OK)
        allocator->stats.reserved_bytes += bytes;
    return status;
}

/* When the device is full, what is cached goes back: of oversize blocks one or some, else all, once
 * other streams are done. */
static ms_status add_segment(ms_allocator *allocator, uint32_t pool, uint64_t bytes,
                             uint32_t *block)
{
    uint64_t segment_bytes = segment_bytes_of(bytes);
    ms_status status = reserve(allocator, pool, segment_bytes, block);
    if (status == MS_ERR_OVER_BUDGET && release_oversize(allocator, pool, bytes))
        status = reserve(allocator, pool, segment_bytes, block);
    if (status != MS_ERR_OVER_BUDGET)
        return status;
    ms_allocator_events_done(allocator);
    uint64_t before_bytes = allocator->stats.reserved_bytes;
    (void)release_all(allocator);
    allocator->stats.retries++;
    allocator->stats.retry_bytes += before_bytes - allocator->stats.reserved_bytes;
    return reserve(allocator, pool, segment_bytes, block);
}

/* The request keeps the front of the block; a rest worth keeping goes back to the pool. */
static void split(ms_allocator *allocator, uint32_t block, ms_pool_kind kind, uint64_t bytes)
{
    const ms_heap_block *b = &allocator->heap.blocks.items[block];
    uint64_t rest_bytes = b->bytes - bytes;
    bool was_split = ms_heap_is_split(b);
    bool worth = kind == MS_POOL_SMALL ? rest_bytes >= MS_MIN_BLOCK_BYTES
                                       : bytes < ms_allocator_max_split_bytes(allocator) &&
                                             rest_bytes > MS_SMALL_BYTES;
    if (worth)
        ms_heap_make_free(&allocator->heap, ms_heap_cut(&allocator->heap, block, bytes));
    if (was_split)
        allocator->stats.inactive_split_bytes -= b->bytes;
    else if (worth)
        allocator->stats.inactive_split_bytes += rest_bytes;
}

static ms_status allocate(ms_allocator *allocator, uint64_t bytes, uint32_t stream, ms_block *out)
{
    uint64_t rounded = ms_allocator_round(allocator, bytes);
    if (!rounded)
        return MS_ERR_OVERFLOW;
    ms_pool_kind kind = rounded <= MS_SMALL_BYTES ? MS_POOL_SMALL : MS_POOL_LARGE;
    uint32_t pool = ms_heap_pool_of(&allocator->heap, stream, kind);
    if (pool == MS_HEAP_NO_POOL || !ms_heap_reserve(&allocator->heap, 2))
        return MS_ERR_NOMEM;
    uint32_t block = take_cached(allocator, pool, rounded);
    if (!block) {
        ms_status status = add_segment(allocator, pool, rounded, &block);
        if (status != MS_OK)
            return status;
    }
    split(allocator, block, kind, rounded);
    ms_allocator_book_out(allocator, block, bytes);
    *out = block;
    return MS_OK;
}

static void release(ms_allocator *allocator, ms_block block)
{
    ms_allocator_book_in(allocator, block);
    allocator->stats.inactive_split_bytes -= ms_allocator_return_block(allocator, block);
    const ms_heap_block *b = &allocator->heap.blocks.items[block];
    if (ms_heap_is_split(b))
        allocator->stats.inactive_split_bytes += b->bytes;
}

const ms_allocator_ops ms_allocator_cuda = {allocate, release, release_all};
