/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * NVML, the driver's management library: PyTorch asks it when memory is short, engines before they
 * use CUDA at all. Its devices are the installed ones, whatever CUDA_VISIBLE_DEVICES says.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hardware/nulldevice/memory.h"
#include "hardware/nulldevice/nulldevice.h"

/* NVML's own numbers. */
enum {
    NVML_INVALID_ARGUMENT = 2,
    NVML_NOT_SUPPORTED = 3,
    NVML_NOT_FOUND = 6,
    NVML_INSUFFICIENT_SIZE = 7,
    NVML_VERSION = 13000
};

static char places[MS_NULL_MAX_DEVICES];

static int find(unsigned number, void **device)
{
    if (number >= (unsigned)ms_null_device_get()->installed)
        return NVML_INVALID_ARGUMENT;
    *device = &places[number];
    return MS_NULL_OK;
}

/* -1 for what is no handle. */
static int number_of(const void *device)
{
    for (int i = 0; i < ms_null_device_get()->installed; i++)
        if (device == &places[i])
            return i;
    return -1;
}

static int put(char *text, unsigned size, const char *value)
{
    if (strlen(value) >= size)
        return NVML_INSUFFICIENT_SIZE;
    memcpy(text, value, strlen(value) + 1);
    return MS_NULL_OK;
}

/* ---- which device ---- */

MS_NULL_CALL(int, nvmlDeviceGetCount_v2, (unsigned *count))
{
    *count = (unsigned)ms_null_device_get()->installed;
    return MS_NULL_OK;
}

MS_NULL_CALL(int, nvmlDeviceGetHandleByIndex_v2, (unsigned number, void **device))
{
    return find(number, device);
}

MS_NULL_CALL(int, nvmlDeviceGetIndex, (const void *device, unsigned *number))
{
    int found = number_of(device);
    *number = (unsigned)found;
    return found < 0 ? NVML_INVALID_ARGUMENT : MS_NULL_OK;
}

/* 0000:01:00.0 is the first: cudaDeviceGetPCIBusId. */
MS_NULL_CALL(int, nvmlDeviceGetHandleByPciBusId_v2, (const char *bus, void **device))
{
    const char *colon = strchr(bus, ':');
    long number = colon ? strtol(colon + 1, NULL, 16) : 0;
    return number > 0 && find((unsigned)number - 1, device) == MS_NULL_OK ? MS_NULL_OK
                                                                          : NVML_NOT_FOUND;
}

/* The first byte counts: cudaGetDeviceProperties. */
static void write_uuid(int number, char text[64])
{
    snprintf(text, 64, "GPU-%02x000000-0000-0000-0000-000000000000", (unsigned)number + 1);
}

MS_NULL_CALL(int, nvmlDeviceGetHandleByUUID, (const char *uuid, void **device))
{
    for (int i = 0; i < ms_null_device_get()->installed; i++) {
        char own[64];
        write_uuid(i, own);
        if (strcmp(uuid, own) == 0)
            return find((unsigned)i, device);
    }
    return NVML_NOT_FOUND;
}

MS_NULL_CALL(int, nvmlDeviceGetUUID, (const void *device, char *text, unsigned size))
{
    char own[64];
    write_uuid(number_of(device), own);
    return number_of(device) < 0 ? NVML_INVALID_ARGUMENT : put(text, size, own);
}

/* ---- what it is ---- */

MS_NULL_CALL(int, nvmlDeviceGetName, (const void *device, char *text, unsigned size))
{
    return number_of(device) < 0 ? NVML_INVALID_ARGUMENT
                                 : put(text, size, ms_null_device_get()->name);
}

MS_NULL_CALL(int, nvmlDeviceGetCudaComputeCapability, (const void *device, int *major, int *minor))
{
    *major = ms_null_device_get()->capability / 10;
    *minor = ms_null_device_get()->capability % 10;
    return number_of(device) < 0 ? NVML_INVALID_ARGUMENT : MS_NULL_OK;
}

/* nvmlMemory_t, and nvmlMemory_v2_t, which tells apart what the driver keeps to itself. */
typedef struct memory {
    unsigned long long total, free, used;
} memory;

typedef struct memory_2 {
    unsigned version;
    unsigned long long total, reserved, free, used;
} memory_2;

static uint64_t free_bytes(int number)
{
    return number < ms_null_device_get()->count ? ms_null_free_bytes(number)
                                                : ms_null_device_get()->bytes;
}

MS_NULL_CALL(int, nvmlDeviceGetMemoryInfo, (const void *device, memory *m))
{
    int number = number_of(device);
    if (number < 0)
        return NVML_INVALID_ARGUMENT;
    m->total = ms_null_device_get()->driver_bytes;
    m->free = free_bytes(number);
    m->used = m->total - m->free;
    return MS_NULL_OK;
}

MS_NULL_CALL(int, nvmlDeviceGetMemoryInfo_v2, (const void *device, memory_2 *m))
{
    int number = number_of(device);
    const ms_null_device *d = ms_null_device_get();
    if (number < 0)
        return NVML_INVALID_ARGUMENT;
    m->total = d->driver_bytes;
    m->reserved = d->driver_bytes - d->bytes;
    m->free = free_bytes(number);
    m->used = d->bytes - m->free;
    return MS_NULL_OK;
}

/* None: PyTorch then reports its own figures only. */
MS_NULL_CALL(int, nvmlDeviceGetComputeRunningProcesses, (const void *device, unsigned *count))
{
    (void)device;
    *count = 0;
    return MS_NULL_OK;
}

/* ---- how devices are connected: as cudaDeviceCanAccessPeer says ---- */

MS_NULL_CALL(int, nvmlDeviceGetP2PStatus,
             (const void *device, const void *peer, int ability, int *status))
{
    (void)ability;
    *status = 0; /* NVML_P2P_STATUS_OK */
    return number_of(device) < 0 || number_of(peer) < 0 ? NVML_INVALID_ARGUMENT : MS_NULL_OK;
}

/* nvmlGpuFabricInfo_v2_t */
typedef struct fabric {
    unsigned version;
    unsigned char cluster[16];
    int status;
    unsigned clique;
    unsigned char state;
    unsigned health;
} fabric;

/* No fabric is there: expandable segments are then shared by file descriptors. */
MS_NULL_CALL(int, nvmlDeviceGetGpuFabricInfoV, (const void *device, fabric *info))
{
    (void)device;
    info->status = MS_NULL_OK;
    info->state = 0;
    return MS_NULL_OK;
}

/* ---- the driver ---- */

MS_NULL_CALL(int, nvmlSystemGetCudaDriverVersion_v2, (int *version))
{
    *version = NVML_VERSION;
    return MS_NULL_OK;
}

MS_NULL_CALL(int, nvmlSystemGetCudaDriverVersion, (int *version))
{
    *version = NVML_VERSION;
    return MS_NULL_OK;
}

/* The first driver of CUDA 13.0. */
MS_NULL_CALL(int, nvmlSystemGetDriverVersion, (char *text, unsigned size))
{
    return put(text, size, "580.65.06");
}

MS_NULL_CALL(const char *, nvmlErrorString, (int code))
{
    static const struct {
        int code;
        const char *text;
    } rows[] = {{MS_NULL_OK, "Success"},
                {NVML_INVALID_ARGUMENT, "Invalid Argument"},
                {NVML_NOT_FOUND, "Not Found"},
                {NVML_INSUFFICIENT_SIZE, "Insufficient Size"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].code == code)
            return rows[i].text;
    return "Not Supported";
}

MS_NULL_SUCCEEDS(nvmlInit_v2)
MS_NULL_SUCCEEDS(nvmlInit)
MS_NULL_SUCCEEDS(nvmlInitWithFlags)
MS_NULL_SUCCEEDS(nvmlShutdown)

MS_NULL_UNCOVERED(nvmlDeviceGetNvLinkRemoteDeviceType, NVML_NOT_SUPPORTED)
MS_NULL_UNCOVERED(nvmlDeviceGetNvLinkRemotePciInfo_v2, NVML_NOT_SUPPORTED)
