/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Playback: the time that passes while events are played. Operators follow one another on a stream;
 * copies to the host, copies back and updates on the host follow one another on a lane each, beside
 * it; where an operator needs one that is not done, the stream waits.
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
    double now_ms;                  /* of the stream of operators */
    double ready_ms[MS_LANE_COUNT]; /* when each stream is done */
    ms_playback_span *copies;       /* per copy of the trace; zero until it was played */
} ms_playback;

/* False when out of memory; ms_playback_free is due all the same. */
bool ms_playback_init(ms_playback *playback, const ms_trace *trace, const ms_device *device);
void ms_playback_free(ms_playback *playback);

/* Each returns how long it takes: an operator; a copy on its lane; a wait for a copy, 0 when that
 * is done. */
double ms_playback_op(ms_playback *playback, const ms_op_exec *op);
double ms_playback_copy(ms_playback *playback, uint32_t copy);
double ms_playback_wait(ms_playback *playback, uint32_t copy);

#endif
