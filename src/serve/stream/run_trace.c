/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/stream/run_trace.h"

#include <string.h>

#include "base/error.h"
#include "core/trace/build.h"
#include "serve/stream/clock.h"

/* ---- place trace ---- */

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

/* ---- run trace ---- */

typedef struct making {
    const ms_place_trace *placed;
    const ms_stream_pass *pass;
    ms_trace *trace;
    ms_stream_schedule schedule;
    ms_stream_action next; /* the layer that is used next, or the end */
    uint32_t layer;        /* that is used now; MS_NONE: none */
    uint32_t slot;         /* its place */
    bool runs;             /* the last step began */
} making;

static bool fetch(const making *m, ms_stream_action a)
{
    const ms_work work = {.kind = MS_WORK_TO_DEVICE,
                          .stream = MS_STREAM_TO_DEVICE,
                          .source = MS_NONE,
                          .target = m->placed->first_place + a.slot,
                          .group = MS_NONE,
                          .after = MS_NONE,
                          .layer = MS_NONE,
                          .bytes = m->pass->layers.items[a.layer].block_bytes,
                          .scope = MS_NONE};
    return ms_trace_add_work(m->trace, work) != MS_NONE;
}

/* What is fetched before the next layer is used. */
static bool go_on(making *m)
{
    m->layer = MS_NONE;
    for (;;) {
        m->next = ms_stream_schedule_next(&m->schedule);
        if (m->next.kind == MS_STREAM_USE || m->next.kind == MS_STREAM_END)
            return true;
        if (m->next.kind == MS_STREAM_FETCH && !fetch(m, m->next))
            return false;
    }
}

/* Where all layers stay, the fetch that brought it long ago. */
static uint32_t fetch_of(const making *m, ms_stream_action use)
{
    bool stays = m->schedule.slots == m->schedule.layers;
    return use.layer + (stays ? 0 : (uint32_t)use.pass * m->schedule.layers);
}

static bool enter(making *m, uint32_t layer)
{
    if (m->layer != MS_NONE && !go_on(m))
        return false;
    if (layer == MS_NONE || m->next.kind != MS_STREAM_USE)
        return true;
    m->layer = layer;
    m->slot = m->next.slot;
    return ms_trace_add_wait(m->trace, MS_STREAM_OPERATORS, fetch_of(m, m->next)) != MS_NONE;
}

/* A weight of the layer that runs is in its place; others are not on the device. */
static void put_in_place(const making *m, uint32_t op)
{
    const ms_op_exec *o = &m->trace->ops.items[op];
    for (uint32_t i = 0; i < o->operand_count; i++) {
        ms_operand *operand = &m->trace->operands.items[o->first_operand + i];
        if (operand->storage == MS_NONE)
            continue;
        uint32_t layer = ms_stream_layer_of(m->trace, operand->storage);
        if (layer == MS_NONE || operand->storage >= m->placed->first_place)
            continue;
        operand->storage = layer == m->layer ? m->placed->first_place + m->slot : MS_NONE;
    }
}

static bool play_mark(making *m, const ms_mark *mark)
{
    uint16_t last = m->trace->marks.items[m->trace->marks.count - 1].step;
    if (mark->step == last && mark->begin && !m->runs) {
        m->runs = true;
        return go_on(m);
    }
    return m->layer == MS_NONE || go_on(m);
}

static bool play_event(making *m, ms_event e)
{
    if (!ms_trace_add_event(m->trace, (ms_event_kind)e.kind, e.id))
        return false;
    if (e.kind == MS_EVENT_MARK)
        return play_mark(m, &m->trace->marks.items[e.id]);
    if (m->runs && e.kind == MS_EVENT_LAYER)
        return enter(m, e.id);
    if (m->runs && e.kind == MS_EVENT_OP_END)
        put_in_place(m, e.id);
    return true;
}

static bool copy_operands(const ms_trace *from, ms_trace *to)
{
    if (!ms_vec_expect(&to->operands, from->operands.count))
        return false;
    if (from->operands.count)
        memcpy(to->operands.items, from->operands.items,
               from->operands.count * sizeof *from->operands.items);
    to->operands.count = from->operands.count;
    return true;
}

ms_status ms_stream_run_trace_make(const ms_place_trace *placed, const ms_stream_pass *pass,
                                   uint32_t passes, ms_run_trace *run, ms_error *err)
{
    making m = {.placed = placed,
                .pass = pass,
                .trace = &run->trace,
                .schedule =
                    ms_stream_schedule_begin(pass->layers.count, placed->places - 1, passes),
                .layer = MS_NONE};
    const ms_trace *from = &placed->trace;
    run->trace = *from;
    memset(&run->trace.events, 0, sizeof run->trace.events);
    memset(&run->trace.works, 0, sizeof run->trace.works);
    memset(&run->trace.waits, 0, sizeof run->trace.waits);
    memset(&run->trace.operands, 0, sizeof run->trace.operands);
    bool ok =
        copy_operands(from, &run->trace) && ms_vec_expect(&run->trace.events, from->events.count);
    for (uint32_t i = 0; i < from->events.count && ok; i++)
        ok = play_event(&m, from->events.items[i]);
    if (ok)
        return MS_OK;
    ms_stream_run_trace_free(run);
    return ms_fail(err, MS_ERR_NOMEM, "no memory for the trace of a stream");
}

void ms_stream_run_trace_free(ms_run_trace *run)
{
    ms_vec_free(&run->trace.events);
    ms_vec_free(&run->trace.works);
    ms_vec_free(&run->trace.waits);
    ms_vec_free(&run->trace.operands);
}
