/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run/measure/playback.h"

#include <stdlib.h>

#include "run/measure/clock.h"

bool ms_playback_init(ms_playback *playback, const ms_trace *trace, const ms_device *device)
{
    *playback = (ms_playback){.trace = trace, .device = device};
    playback->works = calloc((size_t)trace->works.count + 1, sizeof *playback->works);
    playback->ready_ms = calloc((size_t)trace->streams.count + 1, sizeof *playback->ready_ms);
    return playback->works && playback->ready_ms;
}

void ms_playback_free(ms_playback *playback)
{
    free(playback->works);
    free(playback->ready_ms);
    playback->works = NULL;
    playback->ready_ms = NULL;
}

double ms_playback_op(ms_playback *playback, const ms_op_exec *op)
{
    double ms = ms_clock_op_ms(playback->device, op);
    playback->now_ms += ms;
    return ms;
}

static double link_bytes_per_s(const ms_device *device, ms_link link)
{
    switch (link) {
    case MS_LINK_HOST:
        return device->host_link_bytes_per_s;
    case MS_LINK_HOST_MEMORY:
        return device->host_memory_bytes_per_s;
    case MS_LINK_PEER:
        return device->peer_link_bytes_per_s;
    case MS_LINK_NONE: /* between hosts */
        return device->network_bytes_per_s;
    case MS_LINK_COUNT:
        break;
    }
    return 0;
}

static double later(double a, double b)
{
    return a > b ? a : b;
}

double ms_playback_work(ms_playback *playback, uint32_t id)
{
    const ms_work *work = &playback->trace->works.items[id];
    const ms_stream *stream = &playback->trace->streams.items[work->stream];
    double rate = link_bytes_per_s(playback->device, (ms_link)stream->link);
    double ms = rate > 0 ? (double)work->bytes / rate * 1e3 : 0;
    playback->lacks_rate |= !(rate > 0) && work->bytes > 0;
    double *ready = &playback->ready_ms[work->stream];
    double begin = later(*ready, playback->now_ms);
    if (work->after != MS_NONE)
        begin = later(begin, playback->works[work->after].end_ms);
    *ready = begin + ms;
    playback->works[id] = (ms_playback_span){begin, *ready};
    return ms;
}

double ms_playback_wait(ms_playback *playback, uint32_t id)
{
    const ms_wait *wait = &playback->trace->waits.items[id];
    double end = playback->works[wait->work].end_ms, ms = end - playback->now_ms;
    double *ready = &playback->ready_ms[wait->stream];
    if (wait->stream != MS_STREAM_OPERATORS)
        *ready = later(*ready, end);
    if (wait->stream != MS_STREAM_OPERATORS || ms <= 0)
        return 0;
    playback->now_ms = end;
    return ms;
}
