/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/stream/place_trace.h"

#include <string.h>

/* The name of a place is that of the first weight: nobody reads it. */
static bool add_places(ms_place_trace *s, const ms_stream_pass *pass, uint32_t weight)
{
    ms_storage place = s->trace.storages.items[weight];
    place.bytes = pass->slot_bytes;
    place.rank = 0;
    place.dtype = MS_DTYPE_U8;
    s->first_place = s->trace.storages.count;
    for (uint32_t i = 0; i < s->places; i++)
        if (!ms_vec_push(&s->trace.storages, place) ||
            !ms_vec_push(&s->trace.events, (ms_event){MS_EVENT_ALLOC, s->first_place + i}))
            return false;
    return true;
}

static bool copy_storages(const ms_trace *trace, ms_place_trace *s)
{
    if (!ms_vec_expect(&s->trace.storages, (uint64_t)trace->storages.count + s->places) ||
        !ms_vec_expect(&s->trace.events, (uint64_t)trace->events.count + s->places))
        return false;
    memcpy(s->trace.storages.items, trace->storages.items,
           trace->storages.count * sizeof *trace->storages.items);
    s->trace.storages.count = trace->storages.count;
    return true;
}

/* Weights that the build replaces by others, quantised or of another type, were never there. */
static bool is_of_layer(const ms_trace *trace, ms_event e)
{
    return (e.kind == MS_EVENT_ALLOC || e.kind == MS_EVENT_FREE) &&
           ms_stream_layer_of(trace, e.id) != MS_NONE;
}

static bool copy_events(const ms_trace *trace, const ms_stream_pass *pass, ms_place_trace *s)
{
    bool have_places = false;
    for (uint32_t i = 0; i < trace->events.count; i++) {
        const ms_event e = trace->events.items[i];
        if (!is_of_layer(trace, e)) {
            if (!ms_vec_push(&s->trace.events, e))
                return false;
        } else if (!have_places) {
            have_places = true;
            if (!add_places(s, pass, e.id))
                return false;
        }
    }
    return true;
}

ms_status ms_stream_place_trace_make(const ms_trace *trace, const ms_stream_pass *pass,
                                     uint32_t places, ms_place_trace *s, ms_error *err)
{
    *s = (ms_place_trace){.trace = *trace, .places = places};
    memset(&s->trace.storages, 0, sizeof s->trace.storages);
    memset(&s->trace.events, 0, sizeof s->trace.events);
    if (copy_storages(trace, s) && copy_events(trace, pass, s))
        return MS_OK;
    ms_stream_place_trace_free(s);
    return ms_fail(err, MS_ERR_NOMEM, "no memory for the trace of a stream");
}

void ms_stream_place_trace_free(ms_place_trace *s)
{
    ms_vec_free(&s->trace.storages);
    ms_vec_free(&s->trace.events);
}
