/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run/measure/link_use.h"

#include "core/trace/busy.h"
#include "run/measure/schedule.h"

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
