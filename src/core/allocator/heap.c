/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/allocator/heap.h"

bool ms_heap_init(ms_heap *heap, ms_address_order order, const ms_memory *memory)
{
    *heap = (ms_heap){.addresses.order = order};
    heap->memory = memory ? *memory : ms_memory_simulated(&heap->addresses);
    return ms_vec_push(&heap->blocks, (ms_heap_block){0});
}

/* From a mapped block on, as far as memory lies behind the segment: whole pages. */
static uint32_t unmap_run(const ms_heap *heap, uint32_t first)
{
    const ms_heap_block *blocks = heap->blocks.items;
    uint64_t bytes = 0;
    uint32_t b = first;
    for (; b && blocks[b].state != MS_BLOCK_UNMAPPED; b = blocks[b].next)
        bytes += blocks[b].bytes;
    heap->memory.unmap(heap->memory.context, blocks[first].address, bytes);
    return b;
}

/* Of a segment, with what is mapped in it. */
static void give_back(ms_heap *heap, uint32_t first)
{
    const ms_memory *memory = &heap->memory;
    const ms_heap_block *blocks = heap->blocks.items;
    bool is_mapped = heap->memory_kind == MS_MEMORY_ADDRESSES && memory->unmap;
    uint64_t bytes = 0;
    for (uint32_t b = first; b; b = blocks[b].next)
        bytes += blocks[b].bytes;
    for (uint32_t b = first; b && is_mapped;)
        b = blocks[b].state == MS_BLOCK_UNMAPPED ? blocks[b].next : unmap_run(heap, b);
    memory->release(memory->context, heap->memory_kind, blocks[first].address, bytes);
}

void ms_heap_free(ms_heap *heap)
{
    for (uint32_t i = 1; i < heap->blocks.count && heap->memory.release; i++)
        if (heap->blocks.items[i].state != MS_BLOCK_SPARE && heap->blocks.items[i].prev == 0)
            give_back(heap, i);
    for (uint32_t i = 0; i < heap->pools.count; i++)
        ms_vec_free(&heap->pools.items[i].unmapped);
    ms_vec_free(&heap->pools);
    ms_vec_free(&heap->blocks);
}

bool ms_heap_add_rows(ms_heap *heap, uint32_t count)
{
    while (heap->spare_count < count) {
        if (!ms_vec_push(&heap->blocks, (ms_heap_block){.right = heap->spare}))
            return false;
        heap->spare = heap->blocks.count - 1;
        heap->spare_count++;
    }
    return true;
}

uint32_t ms_heap_add_pool(ms_heap *heap, uint32_t stream, ms_pool_kind kind)
{
    ms_heap_pool fresh = {.stream = stream, .kind = kind};
    return ms_vec_push(&heap->pools, fresh) ? heap->pools.count - 1 : MS_HEAP_NO_POOL;
}

ms_status ms_heap_add_segment(ms_heap *heap, uint32_t pool, ms_memory_kind kind, uint64_t bytes,
                              uint32_t *block)
{
    uint64_t address = 0;
    ms_status status = heap->memory.reserve(heap->memory.context, kind, bytes,
                                            heap->pools.items[pool].stream, &address);
    if (status != MS_OK)
        return status;
    heap->segment_changes++;
    *block = ms_heap_take_row(heap);
    ms_heap_block *b = &heap->blocks.items[*block];
    b->address = address;
    b->bytes = bytes;
    b->pool = pool;
    heap->memory_kind = kind;
    return MS_OK;
}

void ms_heap_drop_segment(ms_heap *heap, uint32_t block)
{
    const ms_heap_block *b = &heap->blocks.items[block];
    heap->segment_changes++;
    if (heap->memory.release)
        heap->memory.release(heap->memory.context, heap->memory_kind, b->address, b->bytes);
    ms_heap_drop_row(heap, block);
}

uint32_t ms_heap_cut(ms_heap *heap, uint32_t block, uint64_t front_bytes)
{
    uint32_t rest = ms_heap_take_row(heap);
    ms_heap_block *blocks = heap->blocks.items, *b = &blocks[block], *r = &blocks[rest];
    r->address = b->address + front_bytes;
    r->bytes = b->bytes - front_bytes;
    r->pool = b->pool;
    r->state = b->state;
    r->prev = block;
    r->next = b->next;
    if (b->next)
        blocks[b->next].prev = rest;
    b->next = rest;
    b->bytes = front_bytes;
    return rest;
}

void ms_heap_absorb_prev(ms_heap *heap, uint32_t block)
{
    ms_heap_block *blocks = heap->blocks.items, *b = &blocks[block];
    uint32_t prev = b->prev;
    b->address = blocks[prev].address;
    b->bytes += blocks[prev].bytes;
    b->prev = blocks[prev].prev;
    if (b->prev)
        blocks[b->prev].next = block;
    ms_heap_drop_row(heap, prev);
}

void ms_heap_absorb_next(ms_heap *heap, uint32_t block)
{
    ms_heap_block *blocks = heap->blocks.items, *b = &blocks[block];
    uint32_t next = b->next;
    b->bytes += blocks[next].bytes;
    b->next = blocks[next].next;
    if (b->next)
        blocks[b->next].prev = block;
    ms_heap_drop_row(heap, next);
}
