/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * CUDA's driver: the calls that PyTorch makes besides the runtime's, such as those for expandable
 * segments.
 */
#define _GNU_SOURCE /* for RTLD_DEFAULT; NOLINT(clang-diagnostic-reserved-macro-identifier) */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>

#include "hardware/nulldevice/attributes.h"
#include "hardware/nulldevice/memory.h"
#include "hardware/nulldevice/nulldevice.h"
#include "hardware/nulldevice/remembered.h"

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

MS_NULL_CALL(int, cuStreamGetCtx, (void *stream, void **found))
{
    (void)stream;
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
    int device = ms_null_device_of(address), manager = ms_null_manager_of(address);
    bool is_pinned = device < 0 && ms_null_is_pinned(address);
    device = device < 0 ? manager : device;
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
    case MS_NULL_POINTER_IS_MANAGED:
        *(unsigned *)value = manager >= 0;
        return MS_NULL_OK;
    case MS_NULL_POINTER_DEVICE:
        *(int *)value = is_pinned ? 0 : device;
        return MS_NULL_OK;
    default:
        return ms_null_uncovered("cuPointerGetAttribute", MS_NULL_NOT_SUPPORTED);
    }
}

/* ---- calls by name ---- */

/* CUdriverProcAddressQueryResult */
enum { ENTRY_FOUND = 0, ENTRY_NOT_FOUND = 1 };

/* The name is that of CUDA's documentation; the call of today may end in a version. */
static void *entry_point(const char *name)
{
    char second[128];
    void *found = dlsym(RTLD_DEFAULT, name);
    snprintf(second, sizeof second, "%s_v2", name);
    return found ? found : dlsym(RTLD_DEFAULT, second);
}

/* Libraries ask for all the names that they know, and never call most of them: one that is absent
 * is told to the caller, as CUDA does, and is no call that is not covered. */
static int find_entry(const char *name, void **function, int *found)
{
    *function = entry_point(name);
    if (found)
        *found = *function ? ENTRY_FOUND : ENTRY_NOT_FOUND;
    return *function || found ? MS_NULL_OK : MS_NULL_NOT_FOUND;
}

MS_NULL_CALL(int, cudaGetDriverEntryPointByVersion,
             (const char *name, void **function, unsigned version, unsigned long long flags,
              int *found))
{
    (void)version, (void)flags;
    return find_entry(name, function, found);
}

/* CUDA 12's. */
MS_NULL_CALL(int, cudaGetDriverEntryPoint,
             (const char *name, void **function, unsigned long long flags, int *found))
{
    (void)flags;
    return find_entry(name, function, found);
}

MS_NULL_CALL(int, cuGetProcAddress_v2,
             (const char *name, void **function, int version, unsigned long long flags, int *found))
{
    (void)version, (void)flags;
    return find_entry(name, function, found);
}

/* CUDA 11's. */
MS_NULL_CALL(int, cuGetProcAddress,
             (const char *name, void **function, int version, unsigned long long flags))
{
    (void)version, (void)flags;
    return find_entry(name, function, NULL);
}

/* clang-format off */
#define SUCCEEDS(name) MS_NULL_SUCCEEDS(name)
SUCCEEDS(cuInit) SUCCEEDS(cuDevicePrimaryCtxRelease) SUCCEEDS(cuDevicePrimaryCtxRelease_v2) SUCCEEDS(cuCtxSetCurrent) SUCCEEDS(cuCtxPushCurrent)
SUCCEEDS(cuMemsetD32Async) SUCCEEDS(cuStreamWriteValue32) SUCCEEDS(cuLogsRegisterCallback) SUCCEEDS(cuLogsUnregisterCallback)

#define UNCOVERED(name) MS_NULL_UNCOVERED(name, MS_NULL_NOT_SUPPORTED)
UNCOVERED(cuLinkCreate_v2) UNCOVERED(cuLinkAddData_v2) UNCOVERED(cuLinkComplete)
UNCOVERED(cuMemExportToShareableHandle) UNCOVERED(cuMemImportFromShareableHandle)
UNCOVERED(cuMemRetainAllocationHandle) UNCOVERED(cuMemGetAllocationPropertiesFromHandle) UNCOVERED(cuMemGetAddressRange_v2)
UNCOVERED(cuMulticastCreate) UNCOVERED(cuMulticastGetGranularity) UNCOVERED(cuMulticastAddDevice) UNCOVERED(cuMulticastBindMem) UNCOVERED(cuMulticastUnbind)
UNCOVERED(cuCtxFromGreenCtx) UNCOVERED(cuDevResourceGenerateDesc) UNCOVERED(cuDevSmResourceSplitByCount)
UNCOVERED(cuDeviceGetDevResource) UNCOVERED(cuGreenCtxCreate) UNCOVERED(cuGreenCtxDestroy) UNCOVERED(cuGreenCtxStreamCreate)
    /* clang-format on */
