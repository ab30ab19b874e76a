/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "hardware/replay/replay_clock.h"

#include "core/trace/busy.h"

void ms_replay_clock_free(ms_replay_clock *clock)
{
    for (uint32_t i = 0; i < clock->events.count; i++)
        clock->backend->calls->close_event(clock->backend, clock->events.items[i]);
    ms_vec_free(&clock->events);
    ms_vec_free(&clock->marks);
    ms_vec_free(&clock->spans);
}

ms_status ms_replay_clock_event(ms_replay_clock *clock, ms_backend_event **event, ms_error *err)
{
    if (!ms_vec_reserve(&clock->events))
        return ms_fail(err, MS_ERR_NOMEM, "no memory for the events of a replay");
    ms_status status = clock->backend->calls->open_event(clock->backend, event, err);
    if (status == MS_OK)
        (void)ms_vec_push(&clock->events, *event);
    return status;
}

static bool does_that(const ms_replay_clock *clock, uint32_t phase, uint8_t what)
{
    uint32_t count = clock->marks.count;
    return count > 0 && clock->marks.items[count - 1].phase == phase &&
           clock->marks.items[count - 1].what == what;
}

ms_status ms_replay_clock_mark(ms_replay_clock *clock, ms_backend_stream *stream, uint32_t phase,
                               uint8_t what, ms_error *err)
{
    ms_replay_mark mark = {.phase = phase, .what = what};
    if (does_that(clock, phase, what))
        return MS_OK;
    ms_status status = ms_replay_clock_event(clock, &mark.event, err);
    if (status == MS_OK)
        status = clock->backend->calls->record(clock->backend, mark.event, stream, err);
    if (status == MS_OK && !ms_vec_push(&clock->marks, mark))
        status = ms_fail(err, MS_ERR_NOMEM, "no memory for the times of a replay");
    return status;
}

/* From the first mark. */
static ms_status add_copy(const ms_replay_clock *clock, const ms_replay_span *span,
                          ms_busy_spans *copies, ms_error *err)
{
    const ms_backend_calls *calls = clock->backend->calls;
    ms_backend_event *first = clock->marks.items[0].event;
    ms_busy_span copy = {.weight = span->repeats};
    ms_status status = calls->elapsed(clock->backend, first, span->begin, &copy.begin_ms, err);
    if (status == MS_OK)
        status = calls->elapsed(clock->backend, first, span->end, &copy.end_ms, err);
    if (status == MS_OK && !ms_vec_push(copies, copy))
        status = ms_fail(err, MS_ERR_NOMEM, "no memory for the times of a replay");
    return status;
}

static ms_status read_link(const ms_replay_clock *clock, ms_replay_result *result, ms_error *err)
{
    ms_busy_spans copies = {0};
    ms_status status = MS_OK;
    for (uint32_t i = 0; i < clock->spans.count && status == MS_OK; i++)
        if (!clock->spans.items[i].is_host)
            status = add_copy(clock, &clock->spans.items[i], &copies, err);
    if (status == MS_OK)
        result->link_busy_ms = ms_busy_ms(&copies);
    ms_vec_free(&copies);
    return status;
}

ms_status ms_replay_clock_read(const ms_replay_clock *clock, ms_replay_result *result,
                               ms_error *err)
{
    const ms_backend_calls *calls = clock->backend->calls;
    double ms = 0;
    ms_status status = MS_OK;
    for (uint32_t i = 0; i + 1 < clock->marks.count && status == MS_OK; i++) {
        const ms_replay_mark *mark = &clock->marks.items[i];
        ms_replay_phase *phase = &result->phases.items[mark->phase];
        status = calls->elapsed(clock->backend, mark->event, mark[1].event, &ms, err);
        ms *= phase->repeats;
        phase->ms += ms;
        result->times_ms[mark->what] += ms;
        result->step_ms += ms;
    }
    for (uint32_t i = 0; i < clock->spans.count && status == MS_OK; i++) {
        const ms_replay_span *span = &clock->spans.items[i];
        status = calls->elapsed(clock->backend, span->begin, span->end, &ms, err);
        *(span->is_host ? &result->host_ms : &result->copy_ms) += ms * span->repeats;
    }
    if (status == MS_OK && clock->measures_link && clock->marks.count)
        status = read_link(clock, result, err);
    return status;
}
