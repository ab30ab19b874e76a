/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/allocator/waiting.h"

#include "core/allocator/state.h"

static uint32_t stream_of(const ms_heap *heap, uint32_t block)
{
    return heap->pools.items[heap->blocks.items[block].pool].stream;
}

static bool is_recorded(const ms_stream_uses *uses, uint32_t block, uint32_t stream)
{
    for (uint32_t i = 0; i < uses->count; i++)
        if (uses->items[i].block == block && uses->items[i].stream == stream)
            return true;
    return false;
}

ms_status ms_allocator_record(ms_allocator *allocator, ms_block block, uint32_t stream)
{
    ms_heap *heap = &allocator->heap;
    /* Without pools nothing is handed out a second time. */
    if (!block || heap->pools.count == 0 || stream_of(heap, block) == stream ||
        is_recorded(&allocator->recorded, block, stream))
        return MS_OK;
    uint64_t all = (uint64_t)allocator->recorded.count + allocator->waiting.count + 1;
    if (!ms_vec_expect(&allocator->waiting, all) ||
        !ms_vec_push(&allocator->recorded, (ms_stream_use){.block = block, .stream = stream}))
        return MS_ERR_NOMEM;
    heap->blocks.items[block].stream_count++;
    return MS_OK;
}

/* In the order in which they were recorded; ms_allocator_record made room. */
void ms_waiting_begin(ms_allocator *allocator, ms_block block)
{
    uint32_t left = 0;
    for (uint32_t i = 0; i < allocator->recorded.count; i++) {
        ms_stream_use use = allocator->recorded.items[i];
        if (use.block == block) {
            use.number = allocator->event_count++;
            (void)ms_vec_push(&allocator->waiting, use);
        } else {
            allocator->recorded.items[left++] = use;
        }
    }
    allocator->recorded.count = left;
    ms_heap_block *b = &allocator->heap.blocks.items[block];
    b->state = MS_BLOCK_WAITING;
    allocator->stats.allocated_bytes -= b->bytes;
    allocator->stats.waiting_bytes += b->bytes;
}

/* One stream less; after the last the block goes to its pool, as if it were released now. */
static void pass_event(ms_allocator *allocator, ms_block block)
{
    ms_heap_block *b = &allocator->heap.blocks.items[block];
    if (--b->stream_count > 0)
        return;
    b->state = MS_BLOCK_HELD;
    allocator->stats.waiting_bytes -= b->bytes;
    allocator->stats.allocated_bytes += b->bytes;
    allocator->ops->release(allocator, block);
}

bool ms_allocator_event_done(ms_allocator *allocator, uint32_t stream)
{
    ms_stream_uses *waiting = &allocator->waiting;
    uint32_t i = 0;
    while (i < waiting->count && waiting->items[i].stream != stream)
        i++;
    if (i == waiting->count)
        return false;
    ms_block block = waiting->items[i].block;
    for (waiting->count--; i < waiting->count; i++)
        waiting->items[i] = waiting->items[i + 1];
    pass_event(allocator, block);
    return true;
}

void ms_allocator_events_done(ms_allocator *allocator)
{
    for (uint32_t i = 0; i < allocator->waiting.count; i++)
        pass_event(allocator, allocator->waiting.items[i].block);
    allocator->waiting.count = 0;
}

ms_status ms_allocator_host_event(ms_allocator *allocator, uint32_t number)
{
    uint64_t place = allocator->event_count;
    if (number >= allocator->host_events.count)
        return ms_vec_push(&allocator->host_events, place) ? MS_OK : MS_ERR_NOMEM;
    allocator->host_events.items[number] = place;
    return MS_OK;
}

void ms_allocator_host_waits(ms_allocator *allocator, uint32_t number)
{
    uint64_t place = 0;
    if (number == MS_HOST_WAITS_FOR_ALL)
        place = allocator->event_count;
    else if (number < allocator->host_events.count)
        place = allocator->host_events.items[number];
    if (place > allocator->done_count)
        allocator->done_count = place;
}

void ms_allocator_poll(ms_allocator *allocator)
{
    ms_stream_uses *waiting = &allocator->waiting;
    uint32_t done = 0;
    if (!allocator->options.has_slow_events)
        allocator->done_count = allocator->event_count;
    while (done < waiting->count && waiting->items[done].number < allocator->done_count)
        pass_event(allocator, waiting->items[done++].block);
    for (uint32_t i = done; i < waiting->count && done > 0; i++)
        waiting->items[i - done] = waiting->items[i];
    waiting->count -= done;
}
