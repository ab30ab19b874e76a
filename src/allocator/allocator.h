/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Device allocators behind one interface: raw bytes, PyTorch's CUDA caching allocator, and the same
 * with expandable segments. Rules and constants: docs/semantics/allocator.md.
 */
#ifndef MS_ALLOCATOR_ALLOCATOR_H
#define MS_ALLOCATOR_ALLOCATOR_H

#include <stdbool.h>
#include <stdint.h>

#include "allocator/memory.h"
#include "base/error.h"
#include "base/vec.h"

typedef enum ms_allocator_kind {
    MS_ALLOCATOR_RAW,
    MS_ALLOCATOR_CUDA,
    MS_ALLOCATOR_CUDA_EXPANDABLE,
    MS_ALLOCATOR_COUNT
} ms_allocator_kind;

typedef struct ms_allocator_options {
    ms_allocator_kind kind;
    uint64_t capacity_bytes;           /* what the device can give; 0 = unlimited */
    uint64_t device_bytes;             /* all it has, which address space goes by; 0: as above */
    uint64_t max_split_size_bytes;     /* 0 = unlimited (max_split_size_mb unset) */
    uint32_t roundup_power2_divisions; /* 0 = off; applied to every interval */
    bool has_slow_events; /* what other streams do is done only when the host waits for it, or
                             ms_allocator_event_done says so; else at the next allocation */
} ms_allocator_options;

/* torch.cuda.memory_stats() names in brackets. */
typedef struct ms_allocator_stats {
    uint64_t allocated_bytes;      /* [allocated_bytes.all.current] block bytes handed out */
    uint64_t waiting_bytes;        /* released, while other streams use them: with those handed out
                                      [active_bytes.all.current] */
    uint64_t requested_bytes;      /* [requested_bytes.all.current] as asked for, of both */
    uint64_t reserved_bytes;       /* [reserved_bytes.all.current] segments or mapped pages */
    uint64_t inactive_split_bytes; /* [inactive_split_bytes.all.current] */
    uint64_t retries;              /* times cached segments were given back to make room */
    uint64_t retry_bytes;          /* that these gave back, together */
} ms_allocator_stats;

typedef struct ms_allocator ms_allocator;

/* "raw", "cuda", ...: the value of --allocator. */
const char *ms_allocator_kind_name(ms_allocator_kind kind);

/* On simulated memory; or on that of another source, whose context must outlive the allocator. NULL
 * when out of memory. */
ms_allocator *ms_allocator_create(const ms_allocator_options *options);
ms_allocator *ms_allocator_create_on(const ms_allocator_options *options, const ms_memory *memory);
void ms_allocator_free(ms_allocator *allocator);

/* A block handle; 0 is what a zero-byte request gets and may be passed to release. */
typedef uint32_t ms_block;

/* Hands out a block for `bytes` on `stream`. MS_ERR_OVER_BUDGET when the capacity is exhausted even
 * after every free segment went back; MS_ERR_NOMEM when memscope itself is out of memory;
 * MS_ERR_OVERFLOW when the sum of all sizes leaves the address space. On failure nothing is handed
 * out and the allocator stays usable. */
ms_status ms_allocator_allocate(ms_allocator *allocator, uint64_t bytes, uint32_t stream,
                                ms_block *block);
/* A block that other streams use (allocator/waiting.h) is handed out again only when they are done.
 */
void ms_allocator_release(ms_allocator *allocator, ms_block block);

/* torch.cuda.empty_cache(): what is cached and not split goes back to the device. Fails only when
 * memscope is out of memory. */
ms_status ms_allocator_empty_cache(ms_allocator *allocator);

/* From now on the device never runs out: for going on after MS_ERR_OVER_BUDGET. */
void ms_allocator_lift_capacity(ms_allocator *allocator);

/* As handed out, rounding and unsplit slack included; valid until the block is released. */
uint64_t ms_allocator_block_bytes(const ms_allocator *allocator, ms_block block);

/* Where the block lies in the simulated address space: new segments lie above older ones. */
uint64_t ms_allocator_block_address(const ms_allocator *allocator, ms_block block);

/* A piece of a segment: what was handed out, or what lies free between. */
typedef struct ms_allocator_piece {
    uint64_t address, bytes, requested_bytes; /* requested: of a held piece */
    bool begins_segment, is_small, is_held;
    bool is_waiting; /* held, but released: other streams use it */
} ms_allocator_piece;

typedef ms_vec(ms_allocator_piece) ms_allocator_pieces;

/* Appends all pieces in order of their addresses, which have memory behind them. False when out of
 * memory. */
bool ms_allocator_list(const ms_allocator *allocator, ms_allocator_pieces *pieces);

const ms_allocator_stats *ms_allocator_stats_of(const ms_allocator *allocator);

#endif
