/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * CUDA's runtime: streams and events. Nothing runs; everything completes at once.
 */
#include "nulldevice/captures.h"
#include "nulldevice/nulldevice.h"

MS_NULL_MAKES(cudaStreamCreate)
MS_NULL_MAKES(cudaStreamCreateWithPriority)
MS_NULL_MAKES(cudaStreamCreateWithFlags)

MS_NULL_CALL(int, cudaStreamGetPriority, (void *stream, int *priority))
{
    (void)stream;
    *priority = 0;
    return MS_NULL_OK;
}

MS_NULL_MAKES(cudaEventCreate)
MS_NULL_MAKES(cudaEventCreateWithFlags)

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

MS_NULL_SUCCEEDS(cudaStreamDestroy)
MS_NULL_SUCCEEDS(cudaThreadExchangeStreamCaptureMode)
MS_NULL_SUCCEEDS(cudaProfilerStart)
MS_NULL_SUCCEEDS(cudaProfilerStop)

MS_NULL_CALL(int, cudaDeviceSynchronize, (void))
{
    return ms_null_wait_for_device();
}

MS_NULL_CALL(int, cudaStreamSynchronize, (const void *stream))
{
    return ms_null_wait_for_stream(stream);
}

MS_NULL_CALL(int, cudaStreamQuery, (const void *stream))
{
    return ms_null_wait_for_stream(stream);
}

MS_NULL_CALL(int, cudaEventDestroy, (const void *event))
{
    ms_null_event_forget(event);
    return MS_NULL_OK;
}

MS_NULL_CALL(int, cudaEventRecord, (const void *event, const void *stream))
{
    ms_null_event_record(event, stream);
    return MS_NULL_OK;
}

MS_NULL_CALL(int, cudaEventRecordWithFlags, (const void *event, const void *stream))
{
    ms_null_event_record(event, stream);
    return MS_NULL_OK;
}

MS_NULL_CALL(int, cudaEventQuery, (const void *event))
{
    return ms_null_event_wait(event);
}

MS_NULL_CALL(int, cudaEventSynchronize, (const void *event))
{
    return ms_null_event_wait(event);
}

MS_NULL_CALL(int, cudaStreamWaitEvent, (const void *stream, const void *event))
{
    return ms_null_event_join(stream, event);
}

/* ---- the driver's names ---- */

MS_NULL_MAKES(cuStreamCreate)
MS_NULL_MAKES(cuStreamCreateWithPriority)

MS_NULL_CALL(int, cuStreamSynchronize, (const void *stream))
{
    return ms_null_wait_for_stream(stream);
}

MS_NULL_CALL(int, cuCtxSynchronize, (void))
{
    return ms_null_wait_for_device();
}

MS_NULL_SUCCEEDS(cuStreamDestroy_v2)
