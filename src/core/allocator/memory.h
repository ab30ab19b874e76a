/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The source of an allocator's memory. Allocators request segments and pages; a source supplies
 * them. The simulated source only counts addresses; others have memory behind them.
 */
#ifndef MS_CORE_ALLOCATOR_MEMORY_H
#define MS_CORE_ALLOCATOR_MEMORY_H

#include <stdint.h>

#include "base/error.h"

typedef enum ms_memory_kind {
    MS_MEMORY_BACKED,   /* usable at once, as from cudaMalloc */
    MS_MEMORY_ADDRESSES /* addresses only, as from cuMemAddressReserve; `map` adds memory */
} ms_memory_kind;

/* Alignment of MS_MEMORY_ADDRESSES ranges, a multiple of all page sizes. */
#define MS_MEMORY_ALIGNMENT (UINT64_C(20) << 20)

/* Each function receives `context`, which must outlive the allocator, and must not call the
 * allocator. */
typedef struct ms_memory {
    void *context;
    /* MS_ERR_OVER_BUDGET: the device is full; the allocator then releases cached memory and retries
     * once. Any other failure is passed to the caller. `stream` is that of the pool. */
    ms_status (*reserve)(void *context, ms_memory_kind kind, uint64_t bytes, uint32_t stream,
                         uint64_t *address);
    /* Releases a whole range that `reserve` returned, with nothing mapped in it. NULL: nothing to
     * do. */
    void (*release)(void *context, ms_memory_kind kind, uint64_t address, uint64_t bytes);
    /* Maps whole pages of a range; fails as `reserve` does. NULL: nothing to do. */
    ms_status (*map)(void *context, uint64_t address, uint64_t bytes);
    void (*unmap)(void *context, uint64_t address, uint64_t bytes);
} ms_memory;

/* Addresses end here, so that sums of sizes cannot wrap. */
#define MS_MEMORY_END (UINT64_C(1) << 62)

/* Where a driver places the next segment. Of free blocks of equal size PyTorch takes the one with
 * the lowest address, so the order decides which block a tensor gets, and with it what is split and
 * what stays reserved. */
typedef enum ms_address_order {
    MS_ADDRESSES_UP,   /* above all older ones, as PyTorch's tests and the null device have it */
    MS_ADDRESSES_DOWN, /* below all older ones, those of small blocks apart and upwards: nearest to
                          an H200's driver (tests/oracle/gpu) */
    MS_ADDRESSES_COUNT
} ms_address_order;

/* "up", "down": by ms_address_order, as options spell them; ends with NULL. */
extern const char *const ms_address_order_names[];

typedef struct ms_memory_addresses {
    ms_address_order order;
    uint64_t above, below; /* the next segment begins at the one or ends at the other */
} ms_memory_addresses;

/* Addresses that are never reused, without memory. `addresses` is the caller's and must outlive the
 * source; its order is set, the rest is set here. MS_ERR_OVERFLOW when addresses run out. */
ms_memory ms_memory_simulated(ms_memory_addresses *addresses);

#endif
