/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The trace of streamed passes as a device executes it: places for layers, with the copies of their
 * weights, and the waits for them, where the schedule has them.
 */
#ifndef MS_SERVE_STREAM_RUN_TRACE_H
#define MS_SERVE_STREAM_RUN_TRACE_H

#include "serve/stream/pass.h"

/* Works are the fetches, in the order of the schedule: the n-th fetches layer n % layers. */
typedef struct ms_run_trace {
    ms_trace trace; /* its events, works, waits and operands are its own; the rest is borrowed */
} ms_run_trace;

typedef struct ms_place_trace {
    ms_trace trace;       /* borrows all but storages and events */
    uint32_t first_place; /* the storages of the places follow one another */
    uint32_t places;
} ms_place_trace;

/* `placed` has so many passes in its last step, and must outlive the result. On failure nothing is
 * left to free. */
ms_status ms_stream_run_trace_make(const ms_place_trace *placed, const ms_stream_pass *pass,
                                   uint32_t passes, ms_run_trace *run, ms_error *err);
void ms_stream_run_trace_free(ms_run_trace *run);

/* ---- place trace ---- */

/* The trace of a streamed pass: that of a whole model, with places for 1 + k layers in the stead of
 * the layers' weights. The allocators play it like any other. */

/* `trace` must outlive the result. The places are allocated where the first weight of a layer was.
 * On failure nothing is left to free. */
ms_status ms_stream_place_trace_make(const ms_trace *trace, const ms_stream_pass *pass,
                                     uint32_t places, ms_place_trace *placed, ms_error *err);
void ms_stream_place_trace_free(ms_place_trace *placed);

#endif
