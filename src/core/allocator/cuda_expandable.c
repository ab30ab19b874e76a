/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * PyTorch's CUDA caching allocator with expandable_segments:True: a pool is one large range of
 * addresses, to which memory is mapped page by page.
 */
#include <string.h>

#include "core/allocator/state.h"

/* Address space of one segment when the device has no limit. */
#define UNLIMITED_SPACE_BYTES (UINT64_C(1) << 52)

static uint64_t page_bytes_of(const ms_heap_pool *pool)
{
    return pool->kind == MS_POOL_SMALL ? MS_SMALL_SEGMENT_BYTES : MS_LARGE_SEGMENT_BYTES;
}

static bool add_unmapped(ms_heap *heap, uint32_t block)
{
    ms_heap_block *b = &heap->blocks.items[block];
    ms_heap_pool *pool = &heap->pools.items[b->pool];
    if (!ms_vec_push(&pool->unmapped, block))
        return false;
    uint32_t at = pool->unmapped.count - 1;
    for (; at > 0; at--) {
        uint32_t lower = pool->unmapped.items[at - 1];
        if (heap->blocks.items[lower].address < b->address)
            break;
        pool->unmapped.items[at] = lower;
    }
    pool->unmapped.items[at] = block;
    b->state = MS_BLOCK_UNMAPPED;
    return true;
}

static void remove_unmapped(ms_heap *heap, uint32_t block)
{
    ms_heap_pool *pool = &heap->pools.items[heap->blocks.items[block].pool];
    uint32_t at = 0;
    while (pool->unmapped.items[at] != block)
        at++;
    pool->unmapped.count--;
    memmove(&pool->unmapped.items[at], &pool->unmapped.items[at + 1],
            (pool->unmapped.count - at) * sizeof *pool->unmapped.items);
    heap->blocks.items[block].state = MS_BLOCK_HELD;
}

/* What a free block could grow to by mapping the address space behind it. */
static uint64_t expandable_bytes(const ms_heap_block *blocks, uint32_t block)
{
    uint32_t next = blocks[block].next;
    bool grows = next && blocks[next].state == MS_BLOCK_UNMAPPED;
    return blocks[block].bytes + (grows ? blocks[next].bytes : 0);
}

/* Best fit, where a block at the unmapped tail counts with the tail, so it is used last. */
static uint32_t take_cached(ms_allocator *allocator, uint32_t pool, uint64_t bytes)
{
    ms_heap *heap = &allocator->heap;
    const ms_free_set *set = &heap->pools.items[pool].free;
    const ms_heap_block *blocks = heap->blocks.items;
    uint32_t block = ms_free_set_find(set, blocks, bytes, 0);
    while (block && expandable_bytes(blocks, block) != blocks[block].bytes) {
        uint32_t next =
            ms_free_set_find(set, blocks, blocks[block].bytes, blocks[block].address + 1);
        if (!next || expandable_bytes(blocks, next) >= expandable_bytes(blocks, block))
            break;
        block = next;
    }
    if (!block || !ms_allocator_may_use(allocator, bytes, blocks[block].bytes))
        return 0;
    ms_heap_make_held(heap, block);
    return block;
}

static bool is_unused(const ms_heap_block *block)
{
    return block->state == MS_BLOCK_FREE || block->state == MS_BLOCK_UNMAPPED;
}

static bool has_space(const ms_heap_block *blocks, uint32_t block, uint64_t bytes)
{
    uint64_t found = 0;
    for (; found < bytes && block && is_unused(&blocks[block]); block = blocks[block].next)
        found += blocks[block].bytes;
    return found >= bytes;
}

/* The lowest place where free and unmapped blocks in a row have room: the first block of the row;
 * 0 when there is none. */
static uint32_t find_space(const ms_heap *heap, const ms_heap_pool *pool, uint64_t bytes)
{
    const ms_heap_block *blocks = heap->blocks.items;
    for (uint32_t i = 0; i < pool->unmapped.count; i++) {
        uint32_t first = pool->unmapped.items[i], prev = blocks[first].prev;
        if (prev && blocks[prev].state == MS_BLOCK_FREE)
            first = prev;
        if (has_space(blocks, first, bytes))
            return first;
    }
    return 0;
}

/* The address space of a segment is the device's memory and an eighth more; it begins at a page. */
static ms_status add_space(ms_allocator *allocator, uint32_t pool, uint64_t bytes)
{
    ms_heap *heap = &allocator->heap;
    const ms_allocator_options *options = &allocator->options;
    uint64_t capacity = options->capacity_bytes;
    uint64_t device = options->device_bytes > capacity ? options->device_bytes : capacity;
    uint64_t space = device ? device + device / 8 : UNLIMITED_SPACE_BYTES;
    if (bytes > space && capacity)
        return MS_ERR_OVER_BUDGET;
    if (bytes > space)
        space = UNLIMITED_SPACE_BYTES;
    if (bytes > space)
        return MS_ERR_OVERFLOW;
    space = (space / MS_LARGE_SEGMENT_BYTES + 1) * MS_LARGE_SEGMENT_BYTES;
    uint32_t block;
    ms_status status = ms_heap_add_segment(heap, pool, MS_MEMORY_ADDRESSES, space, &block);
    if (status != MS_OK)
        return status;
    return add_unmapped(heap, block) ? MS_OK : MS_ERR_NOMEM;
}

/* Puts memory behind the first `bytes` of an unmapped block, whole pages, and joins it with the
 * free block before it. The result is held. */
static ms_status map_front(ms_allocator *allocator, uint32_t block, uint64_t bytes)
{
    ms_heap *heap = &allocator->heap;
    const ms_heap_block *b = &heap->blocks.items[block];
    uint64_t page = page_bytes_of(&heap->pools.items[b->pool]);
    uint64_t mapped = (bytes + page - 1) / page * page;
    if (!ms_allocator_has_room(allocator, mapped))
        return MS_ERR_OVER_BUDGET;
    ms_status status =
        heap->memory.map ? heap->memory.map(heap->memory.context, b->address, mapped) : MS_OK;
    if (status != MS_OK)
        return status;
    remove_unmapped(heap, block);
    if (mapped < b->bytes) /* takes the place just vacated, so it cannot fail */
        (void)add_unmapped(heap, ms_heap_cut(heap, block, mapped));
    uint32_t prev = b->prev, next = b->next;
    if (prev && heap->blocks.items[prev].state == MS_BLOCK_FREE) {
        ms_heap_make_held(heap, prev);
        ms_heap_absorb_prev(heap, block);
    }
    if (next && heap->blocks.items[next].state == MS_BLOCK_FREE) {
        ms_heap_make_held(heap, next);
        ms_heap_absorb_next(heap, block);
    }
    allocator->stats.reserved_bytes += mapped;
    return MS_OK;
}

/* Finds room, maps what is missing of it. What was mapped before a failure stays, free. */
static ms_status take_mapped(ms_allocator *allocator, uint32_t pool, uint64_t bytes, uint32_t *out)
{
    ms_heap *heap = &allocator->heap;
    uint32_t block = find_space(heap, &heap->pools.items[pool], bytes);
    if (!block) {
        ms_status status = add_space(allocator, pool, bytes);
        if (status != MS_OK)
            return status;
        block = find_space(heap, &heap->pools.items[pool], bytes);
    }
    if (heap->blocks.items[block].state == MS_BLOCK_FREE)
        ms_heap_make_held(heap, block);
    while (heap->blocks.items[block].state == MS_BLOCK_UNMAPPED ||
           heap->blocks.items[block].bytes < bytes) {
        const ms_heap_block *b = &heap->blocks.items[block];
        bool begun = b->state == MS_BLOCK_HELD;
        uint32_t grow = begun ? b->next : block;
        uint64_t missing = begun ? bytes - b->bytes : bytes;
        uint64_t room = heap->blocks.items[grow].bytes;
        if (begun) /* so that mapping joins the two */
            ms_heap_make_free(heap, block);
        ms_status status = map_front(allocator, grow, missing < room ? missing : room);
        if (status != MS_OK)
            return status;
        block = grow;
    }
    *out = block;
    return MS_OK;
}

/* Makes a block in use address space again, joined with what is unmapped beside it. */
static void make_unmapped(ms_heap *heap, uint32_t block)
{
    const ms_heap_block *blocks = heap->blocks.items;
    uint32_t prev = blocks[block].prev, next = blocks[block].next;
    if (prev && blocks[prev].state == MS_BLOCK_UNMAPPED) {
        remove_unmapped(heap, prev);
        ms_heap_absorb_prev(heap, block);
    }
    if (next && blocks[next].state == MS_BLOCK_UNMAPPED) {
        remove_unmapped(heap, next);
        ms_heap_absorb_next(heap, block);
    }
    (void)add_unmapped(heap, block); /* the caller made room */
}

/* Gives back the pages that lie wholly inside a free block; its ends stay free. */
static bool unmap(ms_allocator *allocator, uint32_t block)
{
    ms_heap *heap = &allocator->heap;
    if (!ms_heap_reserve(heap, 2))
        return false;
    const ms_heap_block *b = &heap->blocks.items[block];
    ms_heap_pool *pool = &heap->pools.items[b->pool];
    uint64_t page = page_bytes_of(pool);
    uint64_t begin = (b->address + page - 1) / page * page;
    uint64_t end = (b->address + b->bytes) / page * page;
    if (begin >= end)
        return true;
    if (!ms_vec_reserve(&pool->unmapped))
        return false;
    ms_heap_make_held(heap, block);
    if (heap->memory.unmap)
        heap->memory.unmap(heap->memory.context, begin, end - begin);
    allocator->stats.reserved_bytes -= end - begin;
    if (b->address + b->bytes > end)
        ms_heap_make_free(heap, ms_heap_cut(heap, block, end - b->address));
    if (b->address < begin) {
        uint32_t inner = ms_heap_cut(heap, block, begin - b->address);
        ms_heap_make_free(heap, block);
        block = inner;
    }
    make_unmapped(heap, block);
    return true;
}

static bool unmap_all(ms_allocator *allocator)
{
    for (uint32_t i = 1; i < allocator->heap.blocks.count; i++)
        if (allocator->heap.blocks.items[i].state == MS_BLOCK_FREE && !unmap(allocator, i))
            return false;
    return true;
}

static ms_status allocate(ms_allocator *allocator, uint64_t bytes, uint32_t stream, ms_block *out)
{
    ms_heap *heap = &allocator->heap;
    uint64_t rounded = ms_allocator_round(allocator, bytes);
    if (!rounded)
        return MS_ERR_OVERFLOW;
    ms_pool_kind kind = rounded <= MS_SMALL_BYTES ? MS_POOL_SMALL : MS_POOL_LARGE;
    uint32_t pool = ms_heap_pool_of(heap, stream, kind);
    if (pool == MS_HEAP_NO_POOL || !ms_heap_reserve(heap, 4))
        return MS_ERR_NOMEM;
    uint32_t block = take_cached(allocator, pool, rounded);
    if (!block) {
        ms_status status = take_mapped(allocator, pool, rounded, &block);
        if (status == MS_ERR_OVER_BUDGET) { /* once other streams are done */
            ms_allocator_events_done(allocator);
            uint64_t before_bytes = allocator->stats.reserved_bytes;
            allocator->stats.retries++;
            if (!unmap_all(allocator) || !ms_heap_reserve(heap, 4))
                return MS_ERR_NOMEM;
            allocator->stats.retry_bytes += before_bytes - allocator->stats.reserved_bytes;
            status = take_mapped(allocator, pool, rounded, &block);
        }
        if (status != MS_OK)
            return status;
    }
    if (heap->blocks.items[block].bytes - rounded >= MS_MIN_BLOCK_BYTES)
        ms_heap_make_free(heap, ms_heap_cut(heap, block, rounded));
    ms_allocator_book_out(allocator, block, bytes);
    *out = block;
    return MS_OK;
}

static void release(ms_allocator *allocator, ms_block block)
{
    ms_allocator_book_in(allocator, block);
    (void)ms_allocator_return_block(allocator, block);
}

const ms_allocator_ops ms_allocator_cuda_expandable = {allocate, release, unmap_all};
