/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Memory of the host backend: what stands for the device's, within a capacity, and the host's own.
 */
#ifndef MS_HARDWARE_REPLAY_HOST_MEMORY_H
#define MS_HARDWARE_REPLAY_HOST_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "core/allocator/memory.h"
#include "base/error.h"
#include "base/vec.h"

typedef struct ms_host_range {
    uint64_t address, bytes;
} ms_host_range;

/* Segments lie in one range of addresses: a new one above those before it while there is room, then
 * in the lowest gap behind the last. Allocators prefer low addresses among equal blocks, so the
 * order decides what they reserve. */
typedef struct ms_host_memory {
    uint64_t capacity_bytes;         /* of the device */
    uint64_t limit_bytes;            /* of both together; 0: none, nothing is written */
    uint64_t used_bytes, host_bytes; /* of the device; of the host */
    uint64_t space, space_bytes;     /* for segments; 0: not there yet */
    uint64_t next;                   /* where the next search begins */
    ms_vec(ms_host_range) segments;  /* by address */
} ms_host_memory;

/* What this process can use without swapping: of the machine and of its control group. 0: unknown.
 */
uint64_t ms_replay_memory_free_bytes(void);

/* Once every range is released. */
void ms_replay_memory_free(ms_host_memory *memory);

/* As the calls of ms_backend_calls, but without waiting for streams. */
ms_status ms_replay_memory_reserve(ms_host_memory *memory, ms_memory_kind kind, uint64_t bytes,
                                   uint64_t *address, ms_error *err);
void ms_replay_memory_release(ms_host_memory *memory, ms_memory_kind kind, uint64_t address,
                              uint64_t bytes);
ms_status ms_replay_memory_map(ms_host_memory *memory, uint64_t address, uint64_t bytes,
                               ms_error *err);
void ms_replay_memory_unmap(ms_host_memory *memory, uint64_t address, uint64_t bytes);
ms_status ms_replay_memory_pin(ms_host_memory *memory, uint64_t bytes, void **pinned,
                               ms_error *err);
void ms_replay_memory_unpin(ms_host_memory *memory, void *pinned, uint64_t bytes);

/* An address as a pointer. */
static inline void *ms_replay_pointer(uint64_t address)
{
    return (void *)(uintptr_t)address; /* NOLINT(performance-no-int-to-ptr) */
}

#endif
