/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * CUDA's runtime: streams and events. Nothing runs; everything completes at once,
 * and events tell how long it would have taken.
 */
#include "hardware/nulldevice/captures.h"
#include "hardware/nulldevice/nulldevice.h"
#include "hardware/nulldevice/times.h"

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

/* The least that two events are apart; on a device it is some microseconds. But programs that time
 * something short first find out how often to run it, as Triton's do_bench does: it runs it five
 * times between two events, and from a fifth of that time it makes as many runs as fill 125 ms.
 * Each run takes the host as long as ever, although the device takes none. With 5 us a run these
 * would be 25,000; with this they are 313 at most. */
#define LEAST_MS 2.0

MS_NULL_CALL(int, cudaEventElapsedTime, (float *milliseconds, const void *from, const void *to))
{
    double found = 1e3 * ms_null_time_between(from, to);
    *milliseconds = (float)(found > LEAST_MS ? found : LEAST_MS);
    return MS_NULL_OK;
}

/* What CUDA 13's headers make of it. */
MS_NULL_CALL(int, cudaEventElapsedTime_v2, (float *milliseconds, const void *from, const void *to))
{
    return cudaEventElapsedTime(milliseconds, from, to);
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

MS_NULL_CALL(int, cudaStreamDestroy, (const void *stream))
{
    ms_null_time_forget(stream);
    return MS_NULL_OK;
}

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
    ms_null_time_forget(event);
    return MS_NULL_OK;
}

MS_NULL_CALL(int, cudaEventRecord, (const void *event, const void *stream))
{
    ms_null_event_record(event, stream);
    ms_null_time_record(event, stream);
    return MS_NULL_OK;
}

MS_NULL_CALL(int, cudaEventRecordWithFlags, (const void *event, const void *stream))
{
    ms_null_event_record(event, stream);
    ms_null_time_record(event, stream);
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
    ms_null_time_join(stream, event);
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
