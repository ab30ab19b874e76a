/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * PyTorch's allocator reuses memory that it never returned to the device. It reports each block to
 * its profiler, by a call between two of its libraries, which this library intercepts: contents
 * remembered at those addresses belong to an earlier tensor and are forgotten.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#include "hardware/nulldevice/nulldevice.h"
#include "hardware/nulldevice/remembered.h"

/* c10::Device */
typedef struct torch_device {
    signed char type, index;
} torch_device;

typedef void reporter(void *, int64_t, size_t, size_t, torch_device);

/* c10::reportMemoryUsageToProfiler(void *, int64_t, size_t, size_t, c10::Device) */
#define REPORT _ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE

static reporter *original;

static void find_original(void)
{
    void *library = dlopen("libc10.so", RTLD_LAZY | RTLD_NOLOAD);
    void *found =
        library ? dlsym(library, "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE") : NULL;
    if (found)
        memcpy(&original, &found, sizeof found);
}

/* NOLINTNEXTLINE(clang-diagnostic-reserved-identifier) */
MS_NULL_CALL(void, REPORT,
             (void *address, int64_t bytes, size_t allocated, size_t reserved, torch_device device))
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (bytes > 0)
        ms_null_forget(address, (uint64_t)bytes);
    pthread_once(&once, find_original);
    if (original)
        original(address, bytes, allocated, reserved, device);
}
