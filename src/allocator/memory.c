/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "allocator/memory.h"

#include <stddef.h>

/* A multiple of every page and segment size. */
#define FIRST_ADDRESS (UINT64_C(20) << 40)

static ms_status reserve(void *context, ms_memory_kind kind, uint64_t bytes, uint32_t stream,
                         uint64_t *address)
{
    uint64_t *next_address = context;
    (void)kind;
    (void)stream;
    if (bytes > MS_MEMORY_END - *next_address)
        return MS_ERR_OVERFLOW;
    *address = *next_address;
    *next_address += bytes;
    return MS_OK;
}

ms_memory ms_memory_simulated(uint64_t *next_address)
{
    *next_address = FIRST_ADDRESS;
    return (ms_memory){.context = next_address, .reserve = reserve};
}
