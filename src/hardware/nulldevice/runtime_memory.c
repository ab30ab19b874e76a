/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * CUDA's runtime: memory and copies.
 */
#include <string.h>

#include "hardware/nulldevice/copies.h"
#include "hardware/nulldevice/captures.h"
#include "hardware/nulldevice/memory.h"
#include "hardware/nulldevice/nulldevice.h"
#include "hardware/nulldevice/runtime_types.h"
#include "hardware/nulldevice/times.h"

MS_NULL_CALL(int, cudaMalloc, (void **address, size_t bytes))
{
    *address = bytes ? ms_null_allocate(ms_null_current_device(), bytes) : NULL;
    return *address || bytes == 0 ? MS_NULL_OK : MS_NULL_OUT_OF_MEMORY;
}

MS_NULL_CALL(int, cudaMallocManaged, (void **address, size_t bytes))
{
    *address = bytes ? ms_null_manage(bytes) : NULL;
    return *address ? MS_NULL_OK : bytes ? MS_NULL_OUT_OF_MEMORY : MS_NULL_INVALID_VALUE;
}

MS_NULL_CALL(int, cudaFree, (void *address))
{
    ms_null_free(address);
    return MS_NULL_OK;
}

MS_NULL_CALL(int, cudaMemGetInfo, (size_t * free_bytes, size_t *total_bytes))
{
    *free_bytes = ms_null_free_bytes(ms_null_current_device());
    *total_bytes = ms_null_device_get()->bytes;
    return MS_NULL_OK;
}

MS_NULL_CALL(int, cudaHostAlloc, (void **address, size_t bytes))
{
    *address = ms_null_pin(bytes);
    return *address ? MS_NULL_OK : MS_NULL_OUT_OF_MEMORY;
}

MS_NULL_CALL(int, cudaMallocHost, (void **address, size_t bytes))
{
    return cudaHostAlloc(address, bytes);
}

MS_NULL_CALL(int, cudaFreeHost, (void *address))
{
    ms_null_unpin(address);
    return MS_NULL_OK;
}

MS_NULL_CALL(int, cudaHostGetDevicePointer, (void **address, void *host))
{
    *address = host;
    return MS_NULL_OK;
}

MS_NULL_CALL(int, cudaPointerGetAttributes, (ms_null_pointer * p, const void *address))
{
    int device = ms_null_device_of(address);
    memset(p, 0, sizeof *p);
    p->device = device;
    if (device >= 0) {
        p->type = MS_NULL_DEVICE;
        memcpy(&p->device_pointer, &address, sizeof address);
    } else if (ms_null_manager_of(address) >= 0) {
        p->type = MS_NULL_MANAGED;
        p->device = ms_null_manager_of(address);
        memcpy(&p->device_pointer, &address, sizeof address);
        memcpy(&p->host_pointer, &address, sizeof address);
    } else {
        bool is_pinned = ms_null_is_pinned(address);
        p->type = is_pinned ? MS_NULL_HOST : MS_NULL_UNREGISTERED;
        memcpy(&p->host_pointer, &address, sizeof address);
        if (is_pinned) { /* the device reads it at the same address */
            p->device = ms_null_current_device();
            memcpy(&p->device_pointer, &address, sizeof address);
        }
    }
    return MS_NULL_OK;
}

/* ---- memory of another process ---- */

/* What another process gives is opened as an address of its own, which holds no memory here: the
 * other process has that, and knows its size. */
#define OPENED_BYTES ((uint64_t)2 << 20)

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

/* ---- copies ---- */

MS_NULL_CALL(int, cudaMemcpy, (void *to, const void *from, size_t bytes))
{
    ms_null_copy(to, from, bytes);
    return MS_NULL_OK;
}

MS_NULL_CALL(int, cudaMemcpyAsync,
             (void *to, const void *from, size_t bytes, int kind, const void *stream))
{
    (void)kind;
    ms_null_work(stream, ms_null_time_of_copy(to, from, bytes));
    ms_null_copy(to, from, bytes);
    return MS_NULL_OK;
}

MS_NULL_CALL(int, cudaMemcpyPeerAsync,
             (void *to, int to_device, const void *from, int from_device, size_t bytes))
{
    (void)to_device, (void)from_device;
    ms_null_copy(to, from, bytes);
    return MS_NULL_OK;
}

MS_NULL_CALL(int, cudaMemcpy2DAsync,
             (void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
              size_t height))
{
    for (size_t row = 0; row < height; row++)
        ms_null_copy((char *)to + row * to_pitch, (const char *)from + row * from_pitch, width);
    return MS_NULL_OK;
}

MS_NULL_CALL(int, cudaMemset, (void *to, int value, size_t bytes))
{
    ms_null_fill(to, value, bytes);
    return MS_NULL_OK;
}

MS_NULL_CALL(int, cudaMemsetAsync, (void *to, int value, size_t bytes, const void *stream))
{
    ms_null_work(stream, ms_null_time_of_bytes(bytes));
    ms_null_fill(to, value, bytes);
    return MS_NULL_OK;
}

enum { SYMBOL_BYTES = 1 << 16 };

/* Variables of kernels, which do not run: one place for all. */
MS_NULL_CALL(int, cudaGetSymbolAddress, (void **address))
{
    static char place[SYMBOL_BYTES];
    *address = place;
    return MS_NULL_OK;
}

MS_NULL_SUCCEEDS(cudaMemPrefetchAsync)
MS_NULL_SUCCEEDS(cudaMemAdvise)
MS_NULL_SUCCEEDS(cuMemPrefetchAsync)
MS_NULL_SUCCEEDS(cuMemPrefetchAsync_v2)
MS_NULL_SUCCEEDS(cuMemAdvise)
MS_NULL_SUCCEEDS(cuMemAdvise_v2)
MS_NULL_SUCCEEDS(cudaMemcpyToSymbol)
MS_NULL_SUCCEEDS(cudaHostRegister)
MS_NULL_SUCCEEDS(cudaHostUnregister)
MS_NULL_SUCCEEDS(cudaDeviceEnablePeerAccess)

/* ---- the driver's names ---- */

MS_NULL_CALL(int, cuMemAlloc_v2, (void **address, size_t bytes))
{
    return bytes ? cudaMalloc(address, bytes) : MS_NULL_INVALID_VALUE;
}

MS_NULL_CALL(int, cuMemAllocManaged, (void **address, size_t bytes))
{
    return cudaMallocManaged(address, bytes);
}

MS_NULL_CALL(int, cuMemFree_v2, (void *address))
{
    return cudaFree(address);
}

MS_NULL_CALL(int, cuMemGetInfo_v2, (size_t * free_bytes, size_t *total_bytes))
{
    return cudaMemGetInfo(free_bytes, total_bytes);
}

MS_NULL_CALL(int, cuMemHostAlloc, (void **address, size_t bytes))
{
    return cudaHostAlloc(address, bytes);
}

MS_NULL_CALL(int, cuMemAllocHost_v2, (void **address, size_t bytes))
{
    return cudaHostAlloc(address, bytes);
}

MS_NULL_CALL(int, cuMemFreeHost, (void *address))
{
    return cudaFreeHost(address);
}

MS_NULL_CALL(int, cuMemcpyDtoH_v2, (void *to, const void *from, size_t bytes))
{
    return cudaMemcpy(to, from, bytes);
}

MS_NULL_CALL(int, cuMemcpyHtoD_v2, (void *to, const void *from, size_t bytes))
{
    return cudaMemcpy(to, from, bytes);
}

MS_NULL_CALL(int, cuMemcpyDtoHAsync_v2,
             (void *to, const void *from, size_t bytes, const void *stream))
{
    return cudaMemcpyAsync(to, from, bytes, 0, stream);
}

MS_NULL_CALL(int, cuMemcpyHtoDAsync_v2,
             (void *to, const void *from, size_t bytes, const void *stream))
{
    return cudaMemcpyAsync(to, from, bytes, 0, stream);
}

MS_NULL_CALL(int, cuMemcpyDtoDAsync_v2,
             (void *to, const void *from, size_t bytes, const void *stream))
{
    return cudaMemcpyAsync(to, from, bytes, 0, stream);
}

/* clang-format off */
#define UNCOVERED(name) MS_NULL_UNCOVERED(name, MS_NULL_NOT_SUPPORTED)
UNCOVERED(cudaIpcGetEventHandle) UNCOVERED(cudaIpcOpenEventHandle)
    /* clang-format on */
