/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * CUDA's runtime: memory of another process. What it was given by is opened as an address of its
 * own, which holds no memory here: the other process has that.
 */
#include <string.h>

#include "nulldevice/memory.h"
#include "nulldevice/nulldevice.h"

#define OPENED_BYTES ((uint64_t)2 << 20) /* the other process's size is not known here */

typedef struct shared_memory {
    char reserved[64]; /* as large as CUDA's */
} shared_memory;

MS_NULL_CALL(int, cudaIpcGetMemHandle, (shared_memory * handle, const void *address))
{
    int device = ms_null_device_of(address);
    if (device < 0)
        return MS_NULL_INVALID_VALUE;
    memset(handle, 0, sizeof *handle);
    memcpy(handle->reserved, &device, sizeof device);
    return MS_NULL_OK;
}

MS_NULL_CALL(int, cudaIpcOpenMemHandle, (void **address, shared_memory handle, unsigned flags))
{
    int device = 0;
    (void)flags;
    memcpy(&device, handle.reserved, sizeof device);
    if (device < 0 || device >= ms_null_device_get()->count)
        return MS_NULL_INVALID_DEVICE;
    *address = ms_null_reserve(device, OPENED_BYTES);
    return *address ? MS_NULL_OK : MS_NULL_OUT_OF_MEMORY;
}

MS_NULL_CALL(int, cudaIpcCloseMemHandle, (void *address))
{
    ms_null_unreserve(address);
    return MS_NULL_OK;
}
