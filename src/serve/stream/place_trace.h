/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The trace of a streamed pass: that of a whole model, with places for 1 + k layers in the stead of
 * the layers' weights. The allocators play it like any other.
 */
#ifndef MS_SERVE_STREAM_PLACE_TRACE_H
#define MS_SERVE_STREAM_PLACE_TRACE_H

#include "base/error.h"
#include "serve/stream/pass.h"

typedef struct ms_place_trace {
    ms_trace trace;       /* borrows all but storages and events */
    uint32_t first_place; /* the storages of the places follow one another */
    uint32_t places;
} ms_place_trace;

/* `trace` must outlive the result. The places are allocated where the first weight of a layer was.
 * On failure nothing is left to free. */
ms_status ms_stream_place_trace_make(const ms_trace *trace, const ms_stream_pass *pass,
                                     uint32_t places, ms_place_trace *placed, ms_error *err);
void ms_stream_place_trace_free(ms_place_trace *placed);

#endif
