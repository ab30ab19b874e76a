/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Playback: the time that passes while events are played. Operators follow one another on the first
 * stream; what another stream is given follows one another there, beside it, at the rate of the
 * stream's link; where a stream needs work that is not done, it waits.
 */
#ifndef MS_MEASURE_PLAYBACK_H
#define MS_MEASURE_PLAYBACK_H

#include <stdbool.h>

#include "device/device.h"
#include "trace/trace.h"

typedef struct ms_playback_span {
    double begin_ms, end_ms;
} ms_playback_span;

typedef struct ms_playback {
    const ms_trace *trace;
    const ms_device *device;
    double now_ms;           /* of the stream of operators */
    double *ready_ms;        /* per stream: when it is done with what it has got; of others */
    ms_playback_span *works; /* per work of the trace; zero until it was played */
} ms_playback;

/* False when out of memory; ms_playback_free is due all the same. */
bool ms_playback_init(ms_playback *playback, const ms_trace *trace, const ms_device *device);
void ms_playback_free(ms_playback *playback);

/* Each returns how long it takes: an operator; work on its stream; a wait of the stream of
 * operators, 0 when the work is done, or when another stream waits. */
double ms_playback_op(ms_playback *playback, const ms_op_exec *op);
double ms_playback_work(ms_playback *playback, uint32_t work);
double ms_playback_wait(ms_playback *playback, uint32_t wait);

#endif
