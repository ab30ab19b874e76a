/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Device allocators behind one interface: raw bytes, PyTorch's CUDA caching allocator, and the same
 * with expandable segments. Rules and constants: docs/semantics/allocator.md.
 */
#ifndef MS_CORE_ALLOCATOR_ALLOCATOR_H
#define MS_CORE_ALLOCATOR_ALLOCATOR_H

#include <stdbool.h>
#include <stdint.h>

#include "core/allocator/memory.h"
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
    uint64_t device_bytes;             /* total memory, which sizes the expandable address space; 0:
                                          capacity_bytes */
    uint64_t max_split_size_bytes;     /* 0 = unlimited (max_split_size_mb unset) */
    uint32_t roundup_power2_divisions; /* 0 = off; applied to every interval */
    ms_address_order addresses;        /* of segments in simulated memory */
    bool has_slow_events; /* events of other streams complete only when the host waits for them or
                             ms_allocator_event_done is called; otherwise at the next allocation */
} ms_allocator_options;

/* Current values; names of torch.cuda.memory_stats() in brackets. */
typedef struct ms_allocator_stats {
    uint64_t allocated_bytes; /* [allocated_bytes.all.current] block bytes handed out */
    uint64_t waiting_bytes; /* released blocks still in use on other streams; allocated + waiting is
                               [active_bytes.all.current] */
    uint64_t requested_bytes; /* [requested_bytes.all.current] before rounding, of allocated and
                                 waiting blocks */
    uint64_t reserved_bytes;  /* [reserved_bytes.all.current] segments or mapped pages */
    uint64_t inactive_split_bytes; /* [inactive_split_bytes.all.current] */
    uint64_t retries;              /* times cached segments were released to make room */
    uint64_t retry_bytes;          /* that these released, in total */
} ms_allocator_stats;

typedef struct ms_allocator ms_allocator;

/* "raw", "cuda", ...: by ms_allocator_kind, as options spell them; ends with NULL. */
extern const char *const ms_allocator_names[];

/* Creates an allocator on simulated memory, or on another memory source, whose context must outlive
 * the allocator. NULL when out of memory. */
ms_allocator *ms_allocator_create(const ms_allocator_options *options);
ms_allocator *ms_allocator_create_on(const ms_allocator_options *options, const ms_memory *memory);
void ms_allocator_free(ms_allocator *allocator);

/* A block handle. A request of 0 bytes gets 0, which may be passed to release. */
typedef uint32_t ms_block;

/* Hands out a block for `bytes` on `stream`. MS_ERR_OVER_BUDGET when the capacity is exhausted even
 * after all free segments were released; MS_ERR_NOMEM when memscope itself is out of memory;
 * MS_ERR_OVERFLOW when the sum of all sizes exceeds the address space. On failure nothing is handed
 * out and the allocator stays usable. */
ms_status ms_allocator_allocate(ms_allocator *allocator, uint64_t bytes, uint32_t stream,
                                ms_block *block);
/* Releases a block. If other streams use it (core/allocator/waiting.h), it is reused only when they
 * are done. */
void ms_allocator_release(ms_allocator *allocator, ms_block block);

/* torch.cuda.empty_cache(): releases cached memory that is not split to the device. Fails only when
 * memscope is out of memory. */
ms_status ms_allocator_empty_cache(ms_allocator *allocator);

/* Sets max_split_size from here on; 0 = unlimited. Memory that is there already stays as it is. */
void ms_allocator_limit_split(ms_allocator *allocator, uint64_t max_split_size_bytes);

/* Removes the capacity limit, to continue after MS_ERR_OVER_BUDGET. */
void ms_allocator_lift_capacity(ms_allocator *allocator);

/* Size of the block, including rounding and slack that was not split off; valid until its release.
 */
uint64_t ms_allocator_block_bytes(const ms_allocator *allocator, ms_block block);

/* Address of the block. */
uint64_t ms_allocator_block_address(const ms_allocator *allocator, ms_block block);

/* A block of a segment, allocated or free. */
typedef struct ms_allocator_piece {
    uint64_t address, bytes, requested_bytes; /* requested: of an allocated block */
    bool begins_segment, is_small, is_held;
    bool is_waiting; /* released, but other streams still use it */
} ms_allocator_piece;

typedef ms_vec(ms_allocator_piece) ms_allocator_pieces;

/* Appends all blocks that have memory behind them, by address. False when out of memory. */
bool ms_allocator_list(const ms_allocator *allocator, ms_allocator_pieces *pieces);

/* Where two calls return the same number, and the same blocks are handed out, the same are free:
 * then the same requests get the same answers. 0: that is not known, as blocks wait for streams or
 * pages are mapped one by one. */
uint64_t ms_allocator_layout(const ms_allocator *allocator);
const ms_allocator_stats *ms_allocator_stats_of(const ms_allocator *allocator);

#endif
