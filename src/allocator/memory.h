/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Where an allocator's memory comes from. Policies ask for segments and pages; a source gives them:
 * the simulated one counts addresses, others have memory behind them.
 */
#ifndef MS_ALLOCATOR_MEMORY_H
#define MS_ALLOCATOR_MEMORY_H

#include <stdint.h>

#include "base/error.h"

typedef enum ms_memory_kind {
    MS_MEMORY_BACKED,   /* to be used at once, as cudaMalloc gives it */
    MS_MEMORY_ADDRESSES /* addresses alone, as of cuMemAddressReserve: `map` puts memory behind */
} ms_memory_kind;

/* What begins at addresses alone begins at a multiple of this: page sizes divide it. */
#define MS_MEMORY_ALIGNMENT (UINT64_C(20) << 20)

/* Every call gets `context`, which must outlive the allocator. No call may use the allocator. */
typedef struct ms_memory {
    void *context;
    /* MS_ERR_OVER_BUDGET: the device is full; then cached memory goes back, and it is asked once
     * more. Any other failure is the caller's. The stream is that of the pool. */
    ms_status (*reserve)(void *context, ms_memory_kind kind, uint64_t bytes, uint32_t stream,
                         uint64_t *address);
    /* Gives back what `reserve` gave, all of it, with nothing mapped. NULL: nothing to do. */
    void (*release)(void *context, ms_memory_kind kind, uint64_t address, uint64_t bytes);
    /* Whole pages of a range of addresses; failures as of `reserve`. NULL: nothing to do. */
    ms_status (*map)(void *context, uint64_t address, uint64_t bytes);
    void (*unmap)(void *context, uint64_t address, uint64_t bytes);
} ms_memory;

/* Addresses end here, so that sums of sizes cannot wrap. */
#define MS_MEMORY_END (UINT64_C(1) << 62)

/* Addresses that grow and are never used again; no memory. `next_address` belongs to the caller,
 * who keeps it as long. MS_ERR_OVERFLOW when they are used up. */
ms_memory ms_memory_simulated(uint64_t *next_address);

#endif
