/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * CUDA's runtime: streams, events and kernels. Nothing runs; everything completes at once.
 */
#include "nulldevice/runtime_kernels.h"

#include <stdlib.h>
#include <string.h>

#include "nulldevice/nulldevice.h"
#include "nulldevice/runtime_types.h"

/* ---- streams and events ---- */

MS_NULL_CALL(int, cudaStreamCreate, (void **stream))
{
    *stream = ms_null_handle();
    return MS_NULL_OK;
}

MS_NULL_CALL(int, cudaStreamCreateWithPriority, (void **stream))
{
    *stream = ms_null_handle();
    return MS_NULL_OK;
}

MS_NULL_CALL(int, cudaStreamCreateWithFlags, (void **stream))
{
    *stream = ms_null_handle();
    return MS_NULL_OK;
}

MS_NULL_CALL(int, cudaStreamGetPriority, (void *stream, int *priority))
{
    (void)stream;
    *priority = 0;
    return MS_NULL_OK;
}

MS_NULL_CALL(int, cudaStreamIsCapturing, (void *stream, int *status))
{
    (void)stream;
    *status = 0;
    return MS_NULL_OK;
}

MS_NULL_CALL(int, cudaStreamGetCaptureInfo,
             (void *stream, int *status, unsigned long long *id, void **graph, void **dependencies,
              void **edges, size_t *count))
{
    (void)stream;
    if (status)
        *status = 0;
    if (id)
        *id = 0;
    if (graph)
        *graph = NULL;
    if (dependencies)
        *dependencies = NULL;
    if (edges)
        *edges = NULL;
    if (count)
        *count = 0;
    return MS_NULL_OK;
}

/* CUDA 12's, without edges. */
MS_NULL_CALL(int, cudaStreamGetCaptureInfo_v2,
             (void *stream, int *status, unsigned long long *id, void **graph, void **dependencies,
              size_t *count))
{
    return cudaStreamGetCaptureInfo(stream, status, id, graph, dependencies, NULL, count);
}

MS_NULL_CALL(int, cudaEventCreate, (void **event))
{
    *event = ms_null_handle();
    return MS_NULL_OK;
}

MS_NULL_CALL(int, cudaEventCreateWithFlags, (void **event))
{
    *event = ms_null_handle();
    return MS_NULL_OK;
}

/* Nothing takes time here, but callers divide by it, and repeat what they time until a time of
 * their own is over. */
#define ELAPSED_MS 1.0F

MS_NULL_CALL(int, cudaEventElapsedTime, (float *milliseconds))
{
    *milliseconds = ELAPSED_MS;
    return MS_NULL_OK;
}

MS_NULL_CALL(int, cudaLaunchHostFunc, (void *stream, void (*function)(void *), void *data))
{
    (void)stream;
    function(data);
    return MS_NULL_OK;
}

MS_NULL_CALL(int, cudaStreamAddCallback,
             (void *stream, void (*function)(void *, int, void *), void *data))
{
    function(stream, MS_NULL_OK, data);
    return MS_NULL_OK;
}

MS_NULL_SUCCEEDS(cudaDeviceSynchronize)
MS_NULL_SUCCEEDS(cudaEventDestroy)
MS_NULL_SUCCEEDS(cudaEventQuery)
MS_NULL_SUCCEEDS(cudaEventRecord)
MS_NULL_SUCCEEDS(cudaEventRecordWithFlags)
MS_NULL_SUCCEEDS(cudaEventSynchronize)
MS_NULL_SUCCEEDS(cudaStreamDestroy)
MS_NULL_SUCCEEDS(cudaStreamQuery)
MS_NULL_SUCCEEDS(cudaStreamSynchronize)
MS_NULL_SUCCEEDS(cudaStreamWaitEvent)
MS_NULL_SUCCEEDS(cudaThreadExchangeStreamCaptureMode)
MS_NULL_SUCCEEDS(cudaProfilerStart)
MS_NULL_SUCCEEDS(cudaProfilerStop)

/* ---- kernels ---- */

MS_NULL_CALL(void **, __cudaRegisterFatBinary, (void))
{
    static void *registered;
    return &registered;
}

MS_NULL_CALL(void, __cudaRegisterFatBinaryEnd, (void))
{
}
MS_NULL_CALL(void, __cudaUnregisterFatBinary, (void))
{
}
MS_NULL_CALL(void, __cudaRegisterFunction, (void))
{
}
MS_NULL_CALL(void, __cudaRegisterVar, (void))
{
}

/* Anything but 0 makes the caller pass over its launch. */
MS_NULL_CALL(unsigned, __cudaPushCallConfiguration, (void))
{
    return 1;
}

MS_NULL_CALL(int, __cudaPopCallConfiguration, (void))
{
    return 1;
}

MS_NULL_CALL(char, __cudaInitModule, (void))
{
    return 1;
}

MS_NULL_CALL(int, __cudaGetKernel, (void **kernel))
{
    *kernel = ms_null_handle();
    return MS_NULL_OK;
}

/* Code that is loaded while the program runs. */
MS_NULL_CALL(int, cudaLibraryLoadData, (void **library))
{
    *library = ms_null_handle();
    return MS_NULL_OK;
}

MS_NULL_CALL(int, cudaLibraryLoadFromFile, (void **library))
{
    *library = ms_null_handle();
    return MS_NULL_OK;
}

MS_NULL_CALL(int, cudaLibraryGetKernel, (void **kernel))
{
    *kernel = ms_null_handle();
    return MS_NULL_OK;
}

MS_NULL_SUCCEEDS(cudaLibraryUnload)
MS_NULL_SUCCEEDS(cudaKernelSetAttributeForDevice)
MS_NULL_SUCCEEDS(__cudaLaunchKernel)
MS_NULL_SUCCEEDS(cudaLaunchKernel)
MS_NULL_SUCCEEDS(cudaLaunchKernelExC)
MS_NULL_SUCCEEDS(cudaLaunchCooperativeKernel)
MS_NULL_SUCCEEDS(cudaFuncSetAttribute)

/* What PyTorch's wheels hold code for: a device runs that of its own major number before it. */
static int code_version(void)
{
    int capability = ms_null_device_get()->capability;
    switch (capability) {
    case 87:
    case 89:
        return 86;
    case 103:
        return 100;
    case 121:
        return 120;
    default:
        return capability;
    }
}

enum { FUNCTION_THREADS = 1024, FUNCTION_REGISTERS = 32, FUNCTION_SHARED_BYTES = 49152 };

void ms_null_describe_function(ms_null_function *f)
{
    memset(f, 0, sizeof *f);
    f->threads_of_block = FUNCTION_THREADS;
    f->registers = FUNCTION_REGISTERS;
    f->dynamic_shared_bytes = FUNCTION_SHARED_BYTES;
    f->ptx_version = f->binary_version = code_version();
}

MS_NULL_CALL(int, cudaFuncGetAttributes, (ms_null_function * f))
{
    ms_null_describe_function(f);
    return MS_NULL_OK;
}

MS_NULL_CALL(int, cudaOccupancyMaxActiveBlocksPerMultiprocessor, (int *count))
{
    *count = MS_NULL_BLOCKS_AT_ONCE;
    return MS_NULL_OK;
}

MS_NULL_CALL(int, cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, (int *count))
{
    *count = MS_NULL_BLOCKS_AT_ONCE;
    return MS_NULL_OK;
}

/* clang-format off */
#define UNCOVERED(name) MS_NULL_UNCOVERED(name, MS_NULL_NOT_SUPPORTED)
UNCOVERED(cudaStreamBeginCapture) UNCOVERED(cudaStreamEndCapture)
UNCOVERED(cudaGraphDebugDotPrint) UNCOVERED(cudaGraphDestroy) UNCOVERED(cudaGraphExecDestroy)
UNCOVERED(cudaGraphGetNodes) UNCOVERED(cudaGraphInstantiate) UNCOVERED(cudaGraphInstantiateWithFlags) UNCOVERED(cudaGraphLaunch)
UNCOVERED(cudaGraphNodeGetDependencies) UNCOVERED(cudaGraphAddNode) UNCOVERED(cudaGraphConditionalHandleCreate)
UNCOVERED(cudaGraphRetainUserObject) UNCOVERED(cudaUserObjectCreate) UNCOVERED(cudaUserObjectRelease)
UNCOVERED(cudaStreamBeginCaptureToGraph) UNCOVERED(cudaStreamUpdateCaptureDependencies)
UNCOVERED(cudaDeviceGetGraphMemAttribute) UNCOVERED(cudaDeviceSetGraphMemAttribute)
UNCOVERED(cudaLibraryGetGlobal) UNCOVERED(cudaLibraryGetKernelCount) UNCOVERED(cudaLibraryGetManaged)
UNCOVERED(cudaLibraryGetUnifiedFunction)
    /* clang-format on */
