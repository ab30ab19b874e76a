/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * CUDA's driver: virtual memory, of which expandable segments and ggml's pools are made. Memory
 * goes back when its handle is released and nothing maps it any longer.
 */
#include <pthread.h>

#include "hardware/nulldevice/memory.h"
#include "hardware/nulldevice/nulldevice.h"
#include "hardware/nulldevice/ranges.h"
#include "hardware/nulldevice/remembered.h"

#define GRANULE_BYTES ((size_t)2 << 20)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* By handle, one address long: how many hold it. By address: the handle that is mapped there. */
static ms_null_ranges holders, mapped;

static bool hold(uintptr_t handle)
{
    ms_null_range *range = ms_null_ranges_find(&holders, handle);
    if (!range)
        return ms_null_ranges_insert(&holders, (ms_null_range){handle, 1, (void *)(uintptr_t)1});
    range->data = (void *)((uintptr_t)range->data + 1);
    return true;
}

static void let_go(uintptr_t handle)
{
    ms_null_range *range = ms_null_ranges_find(&holders, handle);
    if (!range)
        return;
    range->data = (void *)((uintptr_t)range->data - 1);
    if (range->data)
        return;
    ms_null_ranges_remove(&holders, (size_t)(range - holders.items));
    ms_null_give_back(handle);
}

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
    uint64_t taken = ms_null_take(what->location, bytes);
    *handle = taken;
    if (!taken)
        return MS_NULL_OUT_OF_MEMORY;
    pthread_mutex_lock(&lock);
    bool held = hold((uintptr_t)taken);
    pthread_mutex_unlock(&lock);
    if (!held)
        ms_null_give_back(taken);
    return held ? MS_NULL_OK : MS_NULL_OUT_OF_MEMORY;
}

MS_NULL_CALL(int, cuMemRelease, (unsigned long long handle))
{
    pthread_mutex_lock(&lock);
    let_go((uintptr_t)handle);
    pthread_mutex_unlock(&lock);
    return MS_NULL_OK;
}

MS_NULL_CALL(int, cuMemMap, (void *address, size_t bytes, size_t offset, unsigned long long handle))
{
    (void)offset;
    pthread_mutex_lock(&lock);
    bool is_known = ms_null_ranges_find(&holders, (uintptr_t)handle);
    bool done =
        is_known && ms_null_ranges_insert(&mapped, (ms_null_range){(uintptr_t)address, bytes,
                                                                   (void *)(uintptr_t)handle});
    if (done)
        hold((uintptr_t)handle);
    pthread_mutex_unlock(&lock);
    return done ? MS_NULL_OK : MS_NULL_INVALID_VALUE;
}

/* Of all that was mapped between the addresses. */
MS_NULL_CALL(int, cuMemUnmap, (void *address, size_t bytes))
{
    uintptr_t start = (uintptr_t)address;
    pthread_mutex_lock(&lock);
    size_t at = ms_null_ranges_at(&mapped, start);
    while (at < mapped.count && mapped.items[at].start >= start &&
           mapped.items[at].start - start < bytes) {
        uintptr_t handle = (uintptr_t)mapped.items[at].data;
        ms_null_ranges_remove(&mapped, at);
        let_go(handle);
    }
    pthread_mutex_unlock(&lock);
    ms_null_forget(address, bytes);
    return MS_NULL_OK;
}

MS_NULL_SUCCEEDS(cuMemSetAccess)
