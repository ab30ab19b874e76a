/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * NVML: the calls of PyTorch to the driver's management library when memory is short.
 */
#include "nulldevice/nulldevice.h"

enum { NVML_NOT_SUPPORTED = 3, NVML_VERSION = 13000 };

MS_NULL_CALL(int, nvmlDeviceGetHandleByPciBusId_v2, (const char *bus, void **device))
{
    (void)bus;
    *device = ms_null_handle();
    return MS_NULL_OK;
}

MS_NULL_CALL(int, nvmlDeviceGetHandleByUUID, (const char *uuid, void **device))
{
    (void)uuid;
    *device = ms_null_handle();
    return MS_NULL_OK;
}

/* None: PyTorch then reports its own figures only. */
MS_NULL_CALL(int, nvmlDeviceGetComputeRunningProcesses, (void *device, unsigned *count))
{
    (void)device;
    *count = 0;
    return MS_NULL_OK;
}

MS_NULL_CALL(int, nvmlSystemGetCudaDriverVersion_v2, (int *version))
{
    *version = NVML_VERSION;
    return MS_NULL_OK;
}

MS_NULL_CALL(int, nvmlDeviceGetCount_v2, (unsigned *count))
{
    *count = (unsigned)ms_null_device_get()->installed;
    return MS_NULL_OK;
}

MS_NULL_CALL(const char *, nvmlErrorString, (int code))
{
    return code == MS_NULL_OK ? "Success" : "Not Supported";
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
MS_NULL_CALL(int, nvmlDeviceGetGpuFabricInfoV, (void *device, fabric *info))
{
    (void)device;
    info->status = MS_NULL_OK;
    info->state = 0;
    return MS_NULL_OK;
}

MS_NULL_SUCCEEDS(nvmlInit_v2)
MS_NULL_SUCCEEDS(nvmlInit)
MS_NULL_SUCCEEDS(nvmlShutdown)

MS_NULL_UNCOVERED(nvmlDeviceGetNvLinkRemoteDeviceType, NVML_NOT_SUPPORTED)
MS_NULL_UNCOVERED(nvmlDeviceGetNvLinkRemotePciInfo_v2, NVML_NOT_SUPPORTED)
MS_NULL_UNCOVERED(nvmlDeviceGetP2PStatus, NVML_NOT_SUPPORTED)
MS_NULL_UNCOVERED(nvmlDeviceGetUUID, NVML_NOT_SUPPORTED)
