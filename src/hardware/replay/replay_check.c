/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "hardware/replay/replay_check.h"

static bool has_first_streams(const ms_trace *trace)
{
    static const uint8_t kinds[MS_FIRST_STREAMS] = {
        [MS_STREAM_OPERATORS] = MS_STREAM_COMPUTE,
        [MS_STREAM_TO_DEVICE] = MS_STREAM_COPY,
        [MS_STREAM_TO_HOST] = MS_STREAM_COPY,
        [MS_STREAM_UPDATES] = MS_STREAM_HOST,
    };
    bool ok = trace->streams.count >= MS_FIRST_STREAMS;
    for (uint32_t i = 0; ok && i < MS_FIRST_STREAMS; i++)
        ok = trace->streams.items[i].kind == kinds[i];
    return ok;
}

/* The last mark ends a phase of a step. */
static bool has_step(const ms_trace *trace)
{
    uint32_t count = trace->marks.count;
    const ms_mark *last = count ? &trace->marks.items[count - 1] : NULL;
    return last && last->step > 0 && !last->begin;
}

/* Each is a thread, or a stream of the device. */
enum { MOST_STREAMS = 64 };

ms_status ms_replay_check(const ms_trace *trace, ms_error *err)
{
    if (!has_first_streams(trace))
        return ms_fail(err, MS_ERR_CONFIG,
                       "cannot be run: its first %d streams must be for operators, copies to the "
                       "device, copies to the host, and updates on the host",
                       MS_FIRST_STREAMS);
    if (trace->streams.count > MOST_STREAMS)
        return ms_fail(err, MS_ERR_CONFIG, "cannot be run: it has more than %d streams",
                       MOST_STREAMS);
    if (!has_step(trace))
        return ms_fail(err, MS_ERR_CONFIG, "cannot be run: it has no whole step");
    return MS_OK;
}
