/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The trace of streamed passes as a device executes it: places for layers, with the copies of their
 * weights, and the waits for them, where the schedule has them.
 */
#ifndef MS_SERVE_STREAM_RUN_TRACE_H
#define MS_SERVE_STREAM_RUN_TRACE_H

#include "serve/stream/place_trace.h"

/* Works are the fetches, in the order of the schedule: the n-th fetches layer n % layers. */
typedef struct ms_run_trace {
    ms_trace trace; /* its events, works, waits and operands are its own; the rest is borrowed */
} ms_run_trace;

/* `placed` has so many passes in its last step, and must outlive the result. On failure nothing is
 * left to free. */
ms_status ms_stream_run_trace_make(const ms_place_trace *placed, const ms_stream_pass *pass,
                                   uint32_t passes, ms_run_trace *run, ms_error *err);
void ms_stream_run_trace_free(ms_run_trace *run);

#endif
