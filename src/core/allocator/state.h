/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Internal state of an allocator, and the functions each kind implements. A new kind is one file
 * and one row in allocator.c.
 */
#ifndef MS_CORE_ALLOCATOR_STATE_H
#define MS_CORE_ALLOCATOR_STATE_H

#include "core/allocator/allocator.h"
#include "core/allocator/heap.h"
#include "core/allocator/waiting.h"

/* PyTorch's constants (CUDACachingAllocator.cpp): small requests share 2 MiB segments, others share
 * 20 MiB segments or get their own. */
#define MS_MIN_BLOCK_BYTES UINT64_C(512)
#define MS_SMALL_BYTES (UINT64_C(1) << 20) /* largest request of the small pool */
#define MS_SMALL_SEGMENT_BYTES (UINT64_C(2) << 20)
#define MS_MIN_OWN_SEGMENT_BYTES (UINT64_C(10) << 20)
#define MS_LARGE_SEGMENT_BYTES (UINT64_C(20) << 20)
#define MS_ROUND_LARGE_BYTES (UINT64_C(2) << 20)
#define MS_MAX_NON_SPLIT_ROUNDING_BYTES (UINT64_C(20) << 20)

typedef struct ms_allocator_ops {
    ms_status (*allocate)(ms_allocator *allocator, uint64_t bytes, uint32_t stream,
                          ms_block *block);
    void (*release)(ms_allocator *allocator, ms_block block);
    bool (*empty_cache)(ms_allocator *allocator); /* NULL: nothing is cached */
} ms_allocator_ops;

extern const ms_allocator_ops ms_allocator_raw, ms_allocator_cuda, ms_allocator_cuda_expandable;

struct ms_allocator {
    const ms_allocator_ops *ops;
    ms_allocator_options options;
    ms_allocator_stats stats;
    ms_heap heap;
    ms_stream_uses recorded;      /* of blocks handed out */
    ms_stream_uses waiting;       /* of released blocks: events, oldest first */
    uint64_t event_count;         /* recorded so far */
    uint64_t done_count;          /* of which the host knows so many to be complete */
    ms_vec(uint64_t) host_events; /* by number: how many were recorded before each */
};

uint64_t ms_allocator_round_by_divisions(uint64_t bytes, uint32_t divisions);

/* The rounded size of a request; 0 when it exceeds the address space. */
static inline uint64_t ms_allocator_round(const ms_allocator *allocator, uint64_t bytes)
{
    uint32_t divisions = allocator->options.roundup_power2_divisions;
    if (bytes > MS_MEMORY_END)
        return 0;
    if (divisions > 1 && bytes > MS_MIN_BLOCK_BYTES * divisions)
        return ms_allocator_round_by_divisions(bytes, divisions);
    return (bytes + MS_MIN_BLOCK_BYTES - 1) & ~(MS_MIN_BLOCK_BYTES - 1);
}

/* Update the statistics when a block is handed out, and when it is returned. */
static inline void ms_allocator_book_out(ms_allocator *allocator, uint32_t block,
                                         uint64_t requested_bytes)
{
    ms_heap_block *b = &allocator->heap.blocks.items[block];
    b->requested_bytes = requested_bytes;
    allocator->stats.allocated_bytes += b->bytes;
    allocator->stats.requested_bytes += requested_bytes;
}

static inline void ms_allocator_book_in(ms_allocator *allocator, uint32_t block)
{
    const ms_heap_block *b = &allocator->heap.blocks.items[block];
    allocator->stats.allocated_bytes -= b->bytes;
    allocator->stats.requested_bytes -= b->requested_bytes;
}

/* Whether `bytes` more fit the capacity. */
static inline bool ms_allocator_has_room(const ms_allocator *allocator, uint64_t bytes)
{
    uint64_t capacity = allocator->options.capacity_bytes;
    uint64_t reserved = allocator->stats.reserved_bytes;
    return !capacity || (reserved <= capacity && bytes <= capacity - reserved);
}

/* max_split_size, UINT64_MAX when unset. Blocks of at least that size serve only requests of
 * similar size (ms_allocator_may_use). */
static inline uint64_t ms_allocator_max_split_bytes(const ms_allocator *allocator)
{
    uint64_t limit = allocator->options.max_split_size_bytes;
    return limit ? limit : UINT64_MAX;
}

static inline bool ms_allocator_may_use(const ms_allocator *allocator, uint64_t bytes,
                                        uint64_t block_bytes)
{
    uint64_t limit = ms_allocator_max_split_bytes(allocator);
    if (bytes < limit)
        return block_bytes < limit;
    return block_bytes - bytes < MS_MAX_NON_SPLIT_ROUNDING_BYTES;
}

/* Merges a held block with its free neighbours and adds it to the free set. Returns the bytes of
 * these neighbours. */
uint64_t ms_allocator_return_block(ms_allocator *allocator, uint32_t block);

#endif
