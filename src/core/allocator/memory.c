/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/allocator/memory.h"

#include <stddef.h>

/* A multiple of every page and segment size, with room on both sides. */
#define FIRST_ADDRESS (UINT64_C(20) << 56)

/* A segment of PyTorch's small pool, which a driver places apart from larger ones. */
#define SMALL_SEGMENT_BYTES (UINT64_C(2) << 20)

const char *const ms_address_order_names[] = {
    [MS_ADDRESSES_UP] = "up",
    [MS_ADDRESSES_DOWN] = "down",
    NULL,
};

static ms_status reserve(void *context, ms_memory_kind kind, uint64_t bytes, uint32_t stream,
                         uint64_t *address)
{
    ms_memory_addresses *addresses = context;
    (void)stream;
    if (addresses->order == MS_ADDRESSES_DOWN && kind == MS_MEMORY_BACKED &&
        bytes > SMALL_SEGMENT_BYTES) {
        if (bytes > addresses->below)
            return MS_ERR_OVERFLOW;
        addresses->below -= bytes;
        *address = addresses->below;
        return MS_OK;
    }
    if (bytes > MS_MEMORY_END - addresses->above)
        return MS_ERR_OVERFLOW;
    *address = addresses->above;
    addresses->above += bytes;
    return MS_OK;
}

ms_memory ms_memory_simulated(ms_memory_addresses *addresses)
{
    addresses->above = addresses->below = FIRST_ADDRESS;
    return (ms_memory){.context = addresses, .reserve = reserve};
}
