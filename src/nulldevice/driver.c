/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * CUDA's driver: what PyTorch asks it for past the runtime. Expandable segments are made here.
 */
#define _GNU_SOURCE /* for RTLD_DEFAULT; NOLINT(bugprone-reserved-identifier) */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "nulldevice/nulldevice.h"

#define GRANULE_BYTES ((size_t)2 << 20)

MS_NULL_CALL(int, cuDeviceGet, (int *device, int number))
{
    *device = number;
    return number >= 0 && number < ms_null_device_get()->count ? MS_NULL_OK
                                                               : MS_NULL_INVALID_DEVICE;
}

MS_NULL_CALL(int, cuDeviceGetCount, (int *count))
{
    *count = ms_null_device_get()->count;
    return MS_NULL_OK;
}

MS_NULL_CALL(int, cuDevicePrimaryCtxGetState, (int device, unsigned *flags, int *active))
{
    (void)device;
    *flags = 0;
    *active = 1;
    return MS_NULL_OK;
}

static void *context(void)
{
    static char place;
    return &place;
}

MS_NULL_CALL(int, cuDevicePrimaryCtxRetain, (void **found))
{
    *found = context();
    return MS_NULL_OK;
}

MS_NULL_CALL(int, cuCtxGetCurrent, (void **found))
{
    *found = context();
    return MS_NULL_OK;
}

MS_NULL_CALL(int, cuCtxPopCurrent, (void **found))
{
    *found = context();
    return MS_NULL_OK;
}

MS_NULL_CALL(int, cuCtxGetDevice, (int *device))
{
    *device = ms_null_current_device();
    return MS_NULL_OK;
}

MS_NULL_CALL(int, cuPointerGetAttribute, (void *value))
{
    memset(value, 0, sizeof(void *));
    return MS_NULL_OK;
}

/* ---- virtual memory ---- */

/* The beginning of CUmemAllocationProp. */
typedef struct properties {
    int type, handle_types;
    int location_type, location; /* the device */
} properties;

MS_NULL_CALL(int, cuMemGetAllocationGranularity, (size_t * bytes))
{
    *bytes = GRANULE_BYTES;
    return MS_NULL_OK;
}

MS_NULL_CALL(int, cuMemAddressReserve, (void **address, size_t bytes))
{
    *address = ms_null_reserve(ms_null_current_device(), bytes);
    return *address ? MS_NULL_OK : MS_NULL_OUT_OF_MEMORY;
}

MS_NULL_CALL(int, cuMemAddressFree, (void *address))
{
    ms_null_unreserve(address);
    return MS_NULL_OK;
}

MS_NULL_CALL(int, cuMemCreate, (unsigned long long *handle, size_t bytes, const properties *what))
{
    if (what->location < 0 || what->location >= ms_null_device_get()->count)
        return MS_NULL_INVALID_DEVICE;
    *handle = ms_null_take(what->location, bytes);
    return *handle ? MS_NULL_OK : MS_NULL_OUT_OF_MEMORY;
}

MS_NULL_CALL(int, cuMemRelease, (unsigned long long handle))
{
    ms_null_give_back(handle);
    return MS_NULL_OK;
}

MS_NULL_CALL(int, cuMemUnmap, (void *address, size_t bytes))
{
    ms_null_forget(address, bytes);
    return MS_NULL_OK;
}

MS_NULL_SUCCEEDS(cuMemMap)
MS_NULL_SUCCEEDS(cuMemSetAccess)

/* ---- code that is compiled while the program runs ---- */

MS_NULL_CALL(int, cuModuleLoad, (void **module))
{
    *module = ms_null_handle();
    return MS_NULL_OK;
}

MS_NULL_CALL(int, cuModuleLoadData, (void **module))
{
    *module = ms_null_handle();
    return MS_NULL_OK;
}

MS_NULL_CALL(int, cuModuleLoadDataEx, (void **module))
{
    *module = ms_null_handle();
    return MS_NULL_OK;
}

MS_NULL_CALL(int, cuModuleGetFunction, (void **function))
{
    *function = ms_null_handle();
    return MS_NULL_OK;
}

enum { BLOCKS_AT_ONCE = 2, ATTRIBUTE_OF_FUNCTION = 32 };

MS_NULL_CALL(int, cuOccupancyMaxActiveBlocksPerMultiprocessor, (int *count))
{
    *count = BLOCKS_AT_ONCE;
    return MS_NULL_OK;
}

MS_NULL_CALL(int, cuFuncGetAttribute, (int *value))
{
    *value = ATTRIBUTE_OF_FUNCTION;
    return MS_NULL_OK;
}

/* clang-format off */
#define SUCCEEDS(name) MS_NULL_SUCCEEDS(name)
SUCCEEDS(cuInit) SUCCEEDS(cuCtxSetCurrent) SUCCEEDS(cuCtxPushCurrent) SUCCEEDS(cuModuleUnload)
SUCCEEDS(cuFuncSetAttribute) SUCCEEDS(cuFuncSetCacheConfig) SUCCEEDS(cuLaunchKernel) SUCCEEDS(cuLaunchCooperativeKernel)
SUCCEEDS(cuTensorMapEncodeTiled) SUCCEEDS(cuMemsetD32Async) SUCCEEDS(cuStreamWriteValue32) SUCCEEDS(cuLogsRegisterCallback)
SUCCEEDS(cuLogsUnregisterCallback)

#define UNCOVERED(name) MS_NULL_UNCOVERED(name, MS_NULL_NOT_SUPPORTED)
UNCOVERED(cuLinkCreate_v2) UNCOVERED(cuLinkAddData_v2) UNCOVERED(cuLinkComplete)
UNCOVERED(cuMemExportToShareableHandle) UNCOVERED(cuMemImportFromShareableHandle)
UNCOVERED(cuMemRetainAllocationHandle) UNCOVERED(cuMemGetAllocationPropertiesFromHandle) UNCOVERED(cuMemGetAddressRange_v2)
UNCOVERED(cuMulticastCreate) UNCOVERED(cuMulticastAddDevice) UNCOVERED(cuMulticastBindMem) UNCOVERED(cuMulticastUnbind)
UNCOVERED(cuCtxFromGreenCtx) UNCOVERED(cuDevResourceGenerateDesc) UNCOVERED(cuDevSmResourceSplitByCount)
UNCOVERED(cuDeviceGetDevResource) UNCOVERED(cuGreenCtxCreate) UNCOVERED(cuGreenCtxDestroy) UNCOVERED(cuGreenCtxStreamCreate)
    /* clang-format on */

    /* The name is that of CUDA's documentation; the call of today may end in a version. */
    static void *entry_point(const char *name)
{
    char second[128];
    void *found = dlsym(RTLD_DEFAULT, name);
    snprintf(second, sizeof second, "%s_v2", name);
    return found ? found : dlsym(RTLD_DEFAULT, second);
}

/* How the runtime's callers find the driver's calls. */
MS_NULL_CALL(int, cudaGetDriverEntryPointByVersion,
             (const char *name, void **function, unsigned version, unsigned long long flags,
              int *found))
{
    (void)version, (void)flags;
    *function = entry_point(name);
    if (found)
        *found = *function ? 0 : 1;
    return *function ? MS_NULL_OK : ms_null_uncovered(name, MS_NULL_NOT_FOUND);
}

/* CUDA 12's. */
MS_NULL_CALL(int, cudaGetDriverEntryPoint,
             (const char *name, void **function, unsigned long long flags, int *found))
{
    return cudaGetDriverEntryPointByVersion(name, function, 0, flags, found);
}
