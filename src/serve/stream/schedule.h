/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The order in which a streamed model works, as a list of actions without times: the one plan that
 * the clock, the replayed trace and the engine follow.
 *
 * There are 1 + k places for layers on the device. A pass uses the layers in order; a layer is
 * evicted when it was used, and the layer that is 1 + k further on is fetched into its place, past
 * the last layer the first ones of the next pass. Where there is a place for every layer, none is
 * evicted, and the first pass alone fetches.
 */
#ifndef MS_SERVE_STREAM_SCHEDULE_H
#define MS_SERVE_STREAM_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

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
