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

#endif
