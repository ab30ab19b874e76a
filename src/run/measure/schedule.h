/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Schedule: the time of each event of the steady step, from the start of that step. Micro-steps
 * that represent several appear once. If the device's rates are unknown, each event takes 0.001 ms,
 * so that order and length can still be drawn.
 */
#ifndef MS_RUN_MEASURE_SCHEDULE_H
#define MS_RUN_MEASURE_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/vec.h"
#include "core/trace/trace.h"
#include "run/measure/playback.h"
#include "run/measure/usage.h"

/* ---- turns ---- */

/* Turns: work of other streams and waits for it, in the order of the step. A wait names its
 * work by its place from the end of the stream's queue, so that parts of a step can be put
 * together anew. */

/* An earlier work: on this stream, with so many enqueued behind it. */
typedef struct ms_turn_work {
    uint32_t stream, behind;
} ms_turn_work;

typedef struct ms_turn {
    bool is_wait;
    uint32_t span;     /* of the profile, in which it happens */
    double compute_ms; /* computed in that span before */
    double work_ms;    /* how long the work takes on its link; waits: 0 */
    uint32_t stream;   /* of the work; of a wait, the one that waits */
    ms_turn_work of;   /* what is waited for; what the work follows, or a stream MS_NONE */
} ms_turn;

typedef ms_vec(ms_turn) ms_turn_list;

typedef struct ms_turn_writer {
    const ms_trace *trace;
    uint32_t *places; /* per work: its number in its stream's queue, from 1; 0: not enqueued yet */
    uint32_t *counts; /* per stream: works enqueued */
} ms_turn_writer;

/* False when out of memory; call ms_turns_end also then. */
bool ms_turns_begin(ms_turn_writer *writer, const ms_trace *trace);
void ms_turns_end(ms_turn_writer *writer);

/* Each notes one turn at this place of the step; false when out of memory. A wait for what an
 * earlier step enqueued is none. */
bool ms_turns_work(ms_turn_writer *writer, ms_turn_list *list, uint32_t work, ms_turn at);
bool ms_turns_wait(ms_turn_writer *writer, ms_turn_list *list, uint32_t wait, ms_turn at);

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

/* ---- link use ---- */

/* How long the link between device and host is busy in the steady step. */

/* While at least one copy runs, in either direction, including micro-steps that one stands for; 0
 * on a device without rates. The trace has the operators of its last step. */
ms_status ms_link_use_measure(const ms_trace *trace, const ms_usage *usage, const ms_device *device,
                              double *busy_ms, ms_error *err);

#endif
