/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/allocator/allocator.h"

#include <assert.h>

#include "core/allocator/state.h"

static const ms_allocator_ops *const kinds[] = {
    [MS_ALLOCATOR_RAW] = &ms_allocator_raw,
    [MS_ALLOCATOR_CUDA] = &ms_allocator_cuda,
    [MS_ALLOCATOR_CUDA_EXPANDABLE] = &ms_allocator_cuda_expandable,
};
_Static_assert(sizeof kinds / sizeof kinds[0] == MS_ALLOCATOR_COUNT, "an allocator has no row");

const char *const ms_allocator_names[] = {
    [MS_ALLOCATOR_RAW] = "raw",
    [MS_ALLOCATOR_CUDA] = "cuda",
    [MS_ALLOCATOR_CUDA_EXPANDABLE] = "cuda-expandable",
    NULL,
};

ms_allocator *ms_allocator_create(const ms_allocator_options *options)
{
    return ms_allocator_create_on(options, NULL);
}

ms_allocator *ms_allocator_create_on(const ms_allocator_options *options, const ms_memory *memory)
{
    ms_allocator *allocator = calloc(1, sizeof *allocator);
    if (!allocator)
        return NULL;
    allocator->ops = kinds[options->kind];
    allocator->options = *options;
    if (!ms_heap_init(&allocator->heap, options->addresses, memory)) {
        ms_allocator_free(allocator);
        return NULL;
    }
    return allocator;
}

void ms_allocator_free(ms_allocator *allocator)
{
    if (!allocator)
        return;
    ms_heap_free(&allocator->heap);
    ms_vec_free(&allocator->recorded);
    ms_vec_free(&allocator->waiting);
    ms_vec_free(&allocator->host_events);
    free(allocator);
}

ms_status ms_allocator_allocate(ms_allocator *allocator, uint64_t bytes, uint32_t stream,
                                ms_block *block)
{
    *block = 0;
    if (allocator->waiting.count)
        ms_allocator_poll(allocator);
    return bytes ? allocator->ops->allocate(allocator, bytes, stream, block) : MS_OK;
}

void ms_allocator_release(ms_allocator *allocator, ms_block block)
{
    if (!block)
        return;
    const ms_heap_block *b = &allocator->heap.blocks.items[block];
    assert(b->state == MS_BLOCK_HELD);
    if (b->stream_count > 0)
        ms_waiting_begin(allocator, block);
    else
        allocator->ops->release(allocator, block);
}

ms_status ms_allocator_empty_cache(ms_allocator *allocator)
{
    ms_allocator_events_done(allocator);
    bool done = !allocator->ops->empty_cache || allocator->ops->empty_cache(allocator);
    return done ? MS_OK : MS_ERR_NOMEM;
}

void ms_allocator_limit_split(ms_allocator *allocator, uint64_t max_split_size_bytes)
{
    allocator->options.max_split_size_bytes = max_split_size_bytes;
}

void ms_allocator_lift_capacity(ms_allocator *allocator)
{
    allocator->options.capacity_bytes = 0;
}

uint64_t ms_allocator_block_bytes(const ms_allocator *allocator, ms_block block)
{
    return allocator->heap.blocks.items[block].bytes;
}

uint64_t ms_allocator_block_address(const ms_allocator *allocator, ms_block block)
{
    return allocator->heap.blocks.items[block].address;
}

static int by_address(const void *a, const void *b)
{
    const ms_allocator_piece *x = a, *y = b;
    return (x->address > y->address) - (x->address < y->address);
}

/* What is not mapped ends a segment. */
static bool list_segment(const ms_heap *heap, uint32_t block, ms_allocator_pieces *pieces)
{
    bool begins = true;
    for (; block; block = heap->blocks.items[block].next) {
        const ms_heap_block *b = &heap->blocks.items[block];
        bool is_mapped = b->state != MS_BLOCK_UNMAPPED;
        bool is_small = heap->pools.count && heap->pools.items[b->pool].kind == MS_POOL_SMALL;
        bool is_waiting = b->state == MS_BLOCK_WAITING;
        const ms_allocator_piece piece = {.address = b->address,
                                          .bytes = b->bytes,
                                          .requested_bytes = b->requested_bytes,
                                          .begins_segment = begins,
                                          .is_small = is_small,
                                          .is_held = b->state == MS_BLOCK_HELD || is_waiting,
                                          .is_waiting = is_waiting};
        if (is_mapped && !ms_vec_push(pieces, piece))
            return false;
        begins = !is_mapped;
    }
    return true;
}

bool ms_allocator_list(const ms_allocator *allocator, ms_allocator_pieces *pieces)
{
    const ms_heap *heap = &allocator->heap;
    for (uint32_t i = 1; i < heap->blocks.count; i++) {
        const ms_heap_block *b = &heap->blocks.items[i];
        if (b->state != MS_BLOCK_SPARE && b->prev == 0 && !list_segment(heap, i, pieces))
            return false;
    }
    if (pieces->count)
        qsort(pieces->items, pieces->count, sizeof *pieces->items, by_address);
    return true;
}

uint64_t ms_allocator_layout(const ms_allocator *allocator)
{
    bool is_known = allocator->options.kind == MS_ALLOCATOR_CUDA && !allocator->waiting.count &&
                    !allocator->recorded.count;
    return is_known ? allocator->heap.segment_changes + 1 : 0;
}

const ms_allocator_stats *ms_allocator_stats_of(const ms_allocator *allocator)
{
    return &allocator->stats;
}
