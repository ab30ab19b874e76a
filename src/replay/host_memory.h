/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Memory of the host backend: what stands for the device's, within a capacity, and the host's own.
 */
#ifndef MS_REPLAY_HOST_MEMORY_H
#define MS_REPLAY_HOST_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "allocator/memory.h"
#include "base/error.h"

typedef struct ms_host_memory {
    uint64_t capacity_bytes;         /* of the device */
    uint64_t limit_bytes;            /* of both together; 0: none, nothing is written */
    uint64_t used_bytes, host_bytes; /* of the device; of the host */
} ms_host_memory;

/* What this process can use without swapping: of the machine and of its control group. 0: unknown.
 */
uint64_t ms_host_memory_free_bytes(void);

/* As the calls of ms_backend_calls, but without waiting for streams. */
ms_status ms_host_memory_reserve(ms_host_memory *memory, ms_memory_kind kind, uint64_t bytes,
                                 uint64_t *address, ms_error *err);
void ms_host_memory_release(ms_host_memory *memory, ms_memory_kind kind, uint64_t address,
                            uint64_t bytes);
ms_status ms_host_memory_map(ms_host_memory *memory, uint64_t address, uint64_t bytes,
                             ms_error *err);
void ms_host_memory_unmap(ms_host_memory *memory, uint64_t address, uint64_t bytes);
ms_status ms_host_memory_pin(ms_host_memory *memory, uint64_t bytes, void **pinned, ms_error *err);
void ms_host_memory_unpin(ms_host_memory *memory, void *pinned, uint64_t bytes);

/* An address as a pointer. */
static inline void *ms_host_pointer(uint64_t address)
{
    return (void *)(uintptr_t)address; /* NOLINT(performance-no-int-to-ptr) */
}

#endif
