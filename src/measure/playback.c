/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "measure/playback.h"

#include <stdlib.h>

#include "measure/clock.h"

bool ms_playback_init(ms_playback *playback, const ms_trace *trace, const ms_device *device)
{
    *playback = (ms_playback){.trace = trace, .device = device};
    playback->copies = calloc((size_t)trace->copies.count + 1, sizeof *playback->copies);
    return playback->copies != NULL;
}

void ms_playback_free(ms_playback *playback)
{
    free(playback->copies);
    playback->copies = NULL;
}

double ms_playback_op(ms_playback *playback, const ms_op_exec *op)
{
    double ms = ms_clock_op_ms(playback->device, op);
    playback->now_ms += ms;
    return ms;
}

double ms_playback_copy(ms_playback *playback, uint32_t id)
{
    const ms_copy *copy = &playback->trace->copies.items[id];
    double rate = copy->lane == MS_LANE_HOST ? playback->device->host_memory_bytes_per_s
                                             : playback->device->host_link_bytes_per_s;
    double ms = rate > 0 ? (double)copy->bytes / rate * 1e3 : 0;
    double *ready = &playback->ready_ms[copy->lane];
    double begin = *ready > playback->now_ms ? *ready : playback->now_ms;
    if (copy->after != MS_NONE && playback->copies[copy->after].end_ms > begin)
        begin = playback->copies[copy->after].end_ms;
    *ready = begin + ms;
    playback->copies[id] = (ms_playback_span){begin, *ready};
    return ms;
}

double ms_playback_wait(ms_playback *playback, uint32_t id)
{
    double ms = playback->copies[id].end_ms - playback->now_ms;
    if (ms <= 0)
        return 0;
    playback->now_ms = playback->copies[id].end_ms;
    return ms;
}
