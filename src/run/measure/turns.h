/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Turns: work of other streams and waits for it, in the order of the step. A wait names its work by
 * its place from the end of the stream's queue, so that parts of a step can be put together anew.
 */
#ifndef MS_RUN_MEASURE_TURNS_H
#define MS_RUN_MEASURE_TURNS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "core/trace/trace.h"

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

#endif
