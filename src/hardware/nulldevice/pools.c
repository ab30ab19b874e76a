/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Memory that the driver gives out of pools of its own. What a program asks for is counted; how
 * much of the device a pool holds for it depends on how the driver divides its blocks and keeps
 * what is free, which nothing public states. So the pools themselves are not covered: a figure of
 * theirs would look like a measurement.
 */
#include "hardware/nulldevice/ledger.h"
#include "hardware/nulldevice/memory.h"
#include "hardware/nulldevice/nulldevice.h"

MS_NULL_CALL(int, cudaMallocAsync, (void **address, size_t bytes))
{
    ms_null_note_pool('a', "cudaMallocAsync");
    *address = bytes ? ms_null_allocate(ms_null_current_device(), bytes) : NULL;
    return *address || bytes == 0 ? MS_NULL_OK : MS_NULL_OUT_OF_MEMORY;
}

MS_NULL_CALL(int, cudaFreeAsync, (const void *address))
{
    ms_null_free(address);
    return MS_NULL_OK;
}

MS_NULL_CALL(int, cuMemAllocAsync, (void **address, size_t bytes))
{
    return bytes ? cudaMallocAsync(address, bytes) : MS_NULL_INVALID_VALUE;
}

MS_NULL_CALL(int, cuMemFreeAsync, (const void *address))
{
    return cudaFreeAsync(address);
}

#define UNCOVERED(name)                                                                            \
    MS_NULL_CALL(int, name, (void))                                                                \
    {                                                                                              \
        ms_null_note_pool('u', #name);                                                             \
        return ms_null_uncovered(#name, MS_NULL_NOT_SUPPORTED);                                    \
    }

/* clang-format off */
UNCOVERED(cudaMallocFromPoolAsync) UNCOVERED(cudaDeviceGetDefaultMemPool) UNCOVERED(cudaDeviceGetMemPool) UNCOVERED(cudaDeviceSetMemPool)
UNCOVERED(cudaMemGetDefaultMemPool) UNCOVERED(cudaMemGetMemPool) UNCOVERED(cudaMemSetMemPool)
UNCOVERED(cudaMemPoolCreate) UNCOVERED(cudaMemPoolDestroy) UNCOVERED(cudaMemPoolTrimTo) UNCOVERED(cudaMemPoolGetAttribute)
UNCOVERED(cudaMemPoolSetAttribute) UNCOVERED(cudaMemPoolGetAccess) UNCOVERED(cudaMemPoolSetAccess)
UNCOVERED(cudaMemPoolExportToShareableHandle) UNCOVERED(cudaMemPoolImportFromShareableHandle)
UNCOVERED(cudaMemPoolExportPointer) UNCOVERED(cudaMemPoolImportPointer)
UNCOVERED(cuMemAllocFromPoolAsync) UNCOVERED(cuDeviceGetDefaultMemPool) UNCOVERED(cuDeviceGetMemPool) UNCOVERED(cuDeviceSetMemPool)
UNCOVERED(cuMemPoolCreate) UNCOVERED(cuMemPoolDestroy) UNCOVERED(cuMemPoolTrimTo) UNCOVERED(cuMemPoolGetAttribute)
UNCOVERED(cuMemPoolSetAttribute) UNCOVERED(cuMemPoolGetAccess) UNCOVERED(cuMemPoolSetAccess)
    /* clang-format on */
