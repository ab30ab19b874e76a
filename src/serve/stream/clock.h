/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Times of a streamed model: the schedule played with what each layer computes and copies. One
 * stream computes, one copies; both run in order. A copy begins when its place is free, a layer
 * when its weights are there.
 */
#ifndef MS_SERVE_STREAM_CLOCK_H
#define MS_SERVE_STREAM_CLOCK_H

#include "serve/stream/pass.h"

typedef struct ms_stream_times {
    double first_ms;   /* the first pass, which begins with nothing on the device */
    double pass_ms;    /* a pass in the steady state: the mean of late ones */
    double compute_ms; /* of a pass; pass_ms is never less */
    double copy_ms;    /* of a pass: the link's own time */
    double exposed_ms; /* pass_ms - compute_ms: the device waits for weights */
    double hidden_ms;  /* copy_ms - exposed_ms, at least 0 */
} ms_stream_times;

/* For this many layers ahead; more than layers - 1 count as that. MS_ERR_NOMEM. */
ms_status ms_stream_clock_play(const ms_stream_pass *pass, uint64_t prefetch,
                               ms_stream_times *times, ms_error *err);

/* When each of the first `count` passes ends, in ms from the beginning of the first. */
ms_status ms_stream_clock_passes(const ms_stream_pass *pass, uint64_t prefetch, uint32_t count,
                                 double *end_ms, ms_error *err);

/* How many layers ahead are enough, while layers still stream: fewer than layers - 1. */
typedef struct ms_stream_enough {
    uint64_t hides; /* the smallest with which a steady pass waits for no copy; 0: none */
    uint64_t best;  /* the smallest from which on more gain nothing; 0: too few layers to stream */
} ms_stream_enough;
ms_status ms_stream_clock_enough(const ms_stream_pass *pass, ms_stream_enough *enough,
                                 ms_error *err);

/* ---- schedule ---- */

/* The order in which a streamed model works, as a list of actions without times: the one plan that
 * the clock, the replayed trace and the engine follow.
 *
 * There are 1 + k places for layers on the device. A pass uses the layers in order; a layer is
 * evicted when it was used, and the layer that is 1 + k further on is fetched into its place, past
 * the last layer the first ones of the next pass. Where there is a place for every layer, none is
 * evicted, and the first pass alone fetches. */

typedef enum ms_stream_action_kind {
    MS_STREAM_FETCH, /* copy the layer's weights into the place, once that is free */
    MS_STREAM_USE,   /* compute the layer, once its weights are there */
    MS_STREAM_EVICT, /* the place is free once the layer has been computed */
    MS_STREAM_PASS,  /* a pass ends */
    MS_STREAM_END
} ms_stream_action_kind;

typedef struct ms_stream_action {
    ms_stream_action_kind kind;
    uint64_t pass; /* of the layer's use; from 0 */
    uint32_t layer, slot;
} ms_stream_action;

/* All members but the first three begin at 0. */
typedef struct ms_stream_schedule {
    uint32_t layers, slots; /* 1 <= slots <= layers */
    uint64_t passes;        /* 0: without end */
    uint64_t fetched, used; /* layers, over all passes */
    bool has_used, has_ended_pass;
} ms_stream_schedule;

/* `prefetch` is clamped to layers - 1; `layers` is at least 1. */
ms_stream_schedule ms_stream_schedule_begin(uint32_t layers, uint64_t prefetch, uint64_t passes);

/* The next action; MS_STREAM_END when there is none. What no pass uses is not fetched. */
ms_stream_action ms_stream_schedule_next(ms_stream_schedule *schedule);

#endif
