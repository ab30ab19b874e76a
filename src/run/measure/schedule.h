/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Schedule: the time of each event of the steady step, from the start of that step. Micro-steps
 * that represent several appear once. If the device's rates are unknown, each event takes 0.001 ms,
 * so that order and length can still be drawn.
 */
#ifndef MS_RUN_MEASURE_SCHEDULE_H
#define MS_RUN_MEASURE_SCHEDULE_H

#include "base/error.h"
#include "run/measure/playback.h"
#include "run/measure/usage.h"

typedef struct ms_schedule {
    bool is_timed;    /* by the device's rates; else by event number */
    double *event_ms; /* [event - steady_first_event], not decreasing. Allocations and frees of an
                         operator are spread evenly between its begin and its end */
    ms_playback_span *works; /* per work of the trace */
    double end_ms;
} ms_schedule;

ms_status ms_schedule_build(const ms_trace *trace, const ms_usage *usage, const ms_device *device,
                            ms_schedule *schedule, ms_error *err);
void ms_schedule_free(ms_schedule *schedule);

#endif
