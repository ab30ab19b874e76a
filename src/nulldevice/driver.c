/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * CUDA's driver: the calls that PyTorch makes besides the runtime's, such as those for expandable
 * segments.
 */
#include <stdatomic.h>

#include "nulldevice/attributes.h"
#include "nulldevice/memory.h"
#include "nulldevice/nulldevice.h"
#include "nulldevice/remembered.h"

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

/* ---- limits of a context ---- */

/* What CUDA begins with: bytes of a thread's stack, of printf's buffer and of malloc's heap on the
 * device; depth and count of nested launches; and two that are hints. */
static atomic_size_t limits[] = {1024, 1 << 20, 8 << 20, 2, 2048, 128, 0};
enum { LIMITS = sizeof limits / sizeof limits[0] };

MS_NULL_CALL(int, cuCtxGetLimit, (size_t * value, int limit))
{
    if (limit < 0 || limit >= LIMITS)
        return MS_NULL_INVALID_VALUE;
    *value = atomic_load(&limits[limit]);
    return MS_NULL_OK;
}

MS_NULL_CALL(int, cuCtxSetLimit, (int limit, size_t value))
{
    if (limit < 0 || limit >= LIMITS)
        return MS_NULL_INVALID_VALUE;
    atomic_store(&limits[limit], value);
    return MS_NULL_OK;
}

/* ---- pointers ---- */

enum { MEMORY_OF_HOST = 1, MEMORY_OF_DEVICE = 2 }; /* CUmemorytype */

/* Each attribute has a type of its own, so one that is not here is not written. */
MS_NULL_CALL(int, cuPointerGetAttribute, (void *value, int attribute, const void *address))
{
    int device = ms_null_device_of(address);
    bool is_pinned = device < 0 && ms_null_is_pinned(address);
    if (device < 0 && !is_pinned)
        return MS_NULL_INVALID_VALUE;
    switch (attribute) {
    case MS_NULL_POINTER_CONTEXT:
        *(void **)value = context();
        return MS_NULL_OK;
    case MS_NULL_POINTER_MEMORY:
        *(unsigned *)value = is_pinned ? MEMORY_OF_HOST : MEMORY_OF_DEVICE;
        return MS_NULL_OK;
    case MS_NULL_POINTER_ON_DEVICE:
        *(const void **)value = address;
        return MS_NULL_OK;
    case MS_NULL_POINTER_DEVICE:
        *(int *)value = is_pinned ? 0 : device;
        return MS_NULL_OK;
    default:
        return ms_null_uncovered("cuPointerGetAttribute", MS_NULL_NOT_SUPPORTED);
    }
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

/* clang-format off */
#define SUCCEEDS(name) MS_NULL_SUCCEEDS(name)
SUCCEEDS(cuInit) SUCCEEDS(cuCtxSetCurrent) SUCCEEDS(cuCtxPushCurrent)
SUCCEEDS(cuMemsetD32Async) SUCCEEDS(cuStreamWriteValue32) SUCCEEDS(cuLogsRegisterCallback) SUCCEEDS(cuLogsUnregisterCallback)

#define UNCOVERED(name) MS_NULL_UNCOVERED(name, MS_NULL_NOT_SUPPORTED)
UNCOVERED(cuLinkCreate_v2) UNCOVERED(cuLinkAddData_v2) UNCOVERED(cuLinkComplete)
UNCOVERED(cuMemExportToShareableHandle) UNCOVERED(cuMemImportFromShareableHandle)
UNCOVERED(cuMemRetainAllocationHandle) UNCOVERED(cuMemGetAllocationPropertiesFromHandle) UNCOVERED(cuMemGetAddressRange_v2)
UNCOVERED(cuMulticastCreate) UNCOVERED(cuMulticastAddDevice) UNCOVERED(cuMulticastBindMem) UNCOVERED(cuMulticastUnbind)
UNCOVERED(cuCtxFromGreenCtx) UNCOVERED(cuDevResourceGenerateDesc) UNCOVERED(cuDevSmResourceSplitByCount)
UNCOVERED(cuDeviceGetDevResource) UNCOVERED(cuGreenCtxCreate) UNCOVERED(cuGreenCtxDestroy) UNCOVERED(cuGreenCtxStreamCreate)
    /* clang-format on */
