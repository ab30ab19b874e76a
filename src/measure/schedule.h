/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Schedule: when each event of the steady step happens, from the start of that step. Micro-steps
 * that stand for several are there once. On a device whose rates are not known an event takes a
 * thousandth of a millisecond, so that order and length can still be drawn.
 */
#ifndef MS_MEASURE_SCHEDULE_H
#define MS_MEASURE_SCHEDULE_H

#include "base/error.h"
#include "measure/playback.h"
#include "measure/usage.h"

typedef struct ms_schedule {
    bool is_timed;           /* by the device's rates; else by the number of the event */
    double *event_ms;        /* [event - steady_first_event], never falling. Of an operator the
                                first and the last event are its begin and end; what it allocates
                                and frees in between is spread evenly */
    ms_playback_span *works; /* per work of the trace */
    double end_ms;
} ms_schedule;

ms_status ms_schedule_build(const ms_trace *trace, const ms_usage *usage, const ms_device *device,
                            ms_schedule *schedule, ms_error *err);
void ms_schedule_free(ms_schedule *schedule);

#endif
