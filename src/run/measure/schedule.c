/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run/measure/schedule.h"

#include <stdlib.h>

#include "core/device/device.h"
#include "core/trace/busy.h"

/* ---- link use ---- */

static bool is_copy(const ms_trace *trace, const ms_work *work)
{
    return trace->streams.items[work->stream].link == MS_LINK_HOST;
}

static bool list_copies(const ms_trace *trace, const ms_usage *usage, const ms_schedule *schedule,
                        ms_busy_spans *copies)
{
    uint32_t repeats = 1;
    bool ok = true;
    for (uint32_t i = usage->steady_first_event; i < usage->steady_end_event && ok; i++) {
        const ms_event e = trace->events.items[i];
        if (e.kind == MS_EVENT_MARK && trace->marks.items[e.id].begin)
            repeats = trace->marks.items[e.id].repeats;
        if (e.kind != MS_EVENT_WORK || !is_copy(trace, &trace->works.items[e.id]))
            continue;
        const ms_playback_span *span = &schedule->works[e.id];
        ok = ms_vec_push(copies, (ms_busy_span){span->begin_ms, span->end_ms, repeats});
    }
    return ok;
}

ms_status ms_link_use_measure(const ms_trace *trace, const ms_usage *usage, const ms_device *device,
                              double *busy_ms, ms_error *err)
{
    ms_schedule schedule;
    ms_busy_spans copies = {0};
    *busy_ms = 0;
    ms_status status = ms_schedule_build(trace, usage, device, &schedule, err);
    if (status != MS_OK)
        return status;
    if (schedule.is_timed && !list_copies(trace, usage, &schedule, &copies))
        status = ms_fail(err, MS_ERR_NOMEM, "no memory for the use of the link");
    if (status == MS_OK)
        *busy_ms = ms_busy_ms(&copies);
    ms_vec_free(&copies);
    ms_schedule_free(&schedule);
    return status;
}

/* ---- turns ---- */

bool ms_turns_begin(ms_turn_writer *writer, const ms_trace *trace)
{
    *writer = (ms_turn_writer){.trace = trace};
    writer->places = calloc((size_t)trace->works.count + 1, sizeof *writer->places);
    writer->counts = calloc((size_t)trace->streams.count + 1, sizeof *writer->counts);
    return writer->places && writer->counts;
}

void ms_turns_end(ms_turn_writer *writer)
{
    free(writer->places);
    free(writer->counts);
    writer->places = NULL;
    writer->counts = NULL;
}

/* The work as it stands in its queue now; false: it is not in one. */
static bool find(const ms_turn_writer *writer, uint32_t work, ms_turn_work *found)
{
    uint32_t stream = work == MS_NONE ? MS_NONE : writer->trace->works.items[work].stream;
    bool is_there = work != MS_NONE && writer->places[work] > 0;
    *found = (ms_turn_work){MS_NONE, 0};
    if (is_there)
        *found = (ms_turn_work){stream, writer->counts[stream] - writer->places[work]};
    return is_there;
}

bool ms_turns_work(ms_turn_writer *writer, ms_turn_list *list, uint32_t work, ms_turn at)
{
    const ms_work *w = &writer->trace->works.items[work];
    at.is_wait = false;
    at.stream = w->stream;
    (void)find(writer, w->after, &at.of);
    writer->places[work] = ++writer->counts[w->stream];
    return ms_vec_push(list, at);
}

bool ms_turns_wait(ms_turn_writer *writer, ms_turn_list *list, uint32_t wait, ms_turn at)
{
    const ms_wait *w = &writer->trace->waits.items[wait];
    at.is_wait = true;
    at.stream = w->stream;
    at.work_ms = 0;
    return !find(writer, w->work, &at.of) || ms_vec_push(list, at);
}

/* ---- schedule ---- */

static const double untimed_event_ms = 1e-3;

static void spread(double *event_ms, uint32_t begin, uint32_t end)
{
    double span = event_ms[end] - event_ms[begin];
    for (uint32_t i = begin + 1; i < end; i++)
        event_ms[i] = event_ms[begin] + span * (i - begin) / (end - begin);
}

/* Work of a device without rates takes the event that begins it. */
static void count_events(ms_schedule *s, const ms_event *events, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        s->event_ms[i] = i * untimed_event_ms;
        if (events[i].kind == MS_EVENT_WORK)
            s->works[events[i].id] =
                (ms_playback_span){s->event_ms[i], s->event_ms[i] + untimed_event_ms};
    }
}

static void play_event(ms_playback *time, ms_event e)
{
    switch ((ms_event_kind)e.kind) {
    case MS_EVENT_OP_END:
        ms_playback_op(time, &time->trace->ops.items[e.id]);
        break;
    case MS_EVENT_WORK:
        ms_playback_work(time, e.id);
        break;
    case MS_EVENT_WAIT:
        ms_playback_wait(time, e.id);
        break;
    case MS_EVENT_ALLOC:
    case MS_EVENT_FREE:
    case MS_EVENT_OP_BEGIN:
    case MS_EVENT_MARK:
    case MS_EVENT_LAYER:
    case MS_EVENT_RECORD:
    case MS_EVENT_HOST_EVENT:
    case MS_EVENT_HOST_WAIT:
    case MS_EVENT_EMPTY_CACHE:
        break;
    }
}

static void play_events(ms_schedule *s, ms_playback *time, const ms_event *events, uint32_t count)
{
    uint32_t begin = MS_NONE; /* of the operator that runs */
    for (uint32_t i = 0; i < count; i++) {
        const ms_event *e = &events[i];
        play_event(time, *e);
        s->event_ms[i] = time->now_ms;
        if (e->kind == MS_EVENT_OP_END && begin != MS_NONE)
            spread(s->event_ms, begin, i);
        if (e->kind == MS_EVENT_OP_BEGIN || e->kind == MS_EVENT_OP_END)
            begin = e->kind == MS_EVENT_OP_BEGIN ? i : MS_NONE;
    }
}

ms_status ms_schedule_build(const ms_trace *trace, const ms_usage *usage, const ms_device *device,
                            ms_schedule *schedule, ms_error *err)
{
    uint32_t count = usage->steady_end_event - usage->steady_first_event;
    const ms_event *events = count ? &trace->events.items[usage->steady_first_event] : NULL;
    ms_playback time;
    bool ready = ms_playback_init(&time, trace, device);
    *schedule = (ms_schedule){.is_timed = ms_device_has_rates(device) && !device->has_assumed_rates,
                              .works = time.works};
    schedule->event_ms = calloc((size_t)count + 1, sizeof *schedule->event_ms);
    if (!ready || !schedule->event_ms) {
        time.works = NULL;
        ms_playback_free(&time);
        ms_schedule_free(schedule);
        return ms_fail(err, MS_ERR_NOMEM, "no memory for the schedule of the step");
    }
    if (schedule->is_timed)
        play_events(schedule, &time, events, count);
    else
        count_events(schedule, events, count);
    time.works = NULL; /* the schedule has them */
    ms_playback_free(&time);
    schedule->end_ms = count ? schedule->event_ms[count - 1] : 0;
    return MS_OK;
}

void ms_schedule_free(ms_schedule *schedule)
{
    free(schedule->event_ms);
    free(schedule->works);
    *schedule = (ms_schedule){0};
}
