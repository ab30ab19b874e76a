/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/step/json_levels.h"

#include "report/view/view.h"

enum { MOST_LEVELS = 2048 };

static bool is_counted(const ms_event *event)
{
    return event->kind == MS_EVENT_ALLOC || event->kind == MS_EVENT_FREE;
}

static uint32_t count_events(const ms_trace *trace, const ms_usage *usage)
{
    uint32_t count = 0;
    for (uint32_t i = usage->steady_first_event; i < usage->steady_end_event; i++)
        count += is_counted(&trace->events.items[i]);
    return count;
}

/* A power of two, so that of two steps the levels of the shorter one are among those of the longer
 * one, or the other way round. */
static uint32_t stride_of(uint32_t count)
{
    uint32_t stride = 1;
    while (count / stride >= MOST_LEVELS)
        stride *= 2;
    return stride;
}

static void write_bytes(ms_json_writer *w, const ms_trace *trace, const ms_usage *usage,
                        uint32_t stride)
{
    uint64_t bytes = usage->start_bytes;
    uint32_t count = 0;
    ms_json_array_inline(w, "bytes");
    ms_json_uint(w, NULL, bytes);
    for (uint32_t i = usage->steady_first_event; i < usage->steady_end_event; i++) {
        const ms_event *event = &trace->events.items[i];
        if (!is_counted(event))
            continue;
        uint64_t block = ms_usage_rounded_bytes(trace, usage, event->id);
        bytes = event->kind == MS_EVENT_ALLOC ? bytes + block : bytes - block;
        if (++count % stride == 0)
            ms_json_uint(w, NULL, bytes);
    }
    ms_json_close(w);
}

static void write_phases(ms_json_writer *w, const ms_trace *trace, const ms_usage *usage)
{
    uint32_t count = 0;
    ms_json_array(w, "phases");
    for (uint32_t i = usage->steady_first_event; i < usage->steady_end_event; i++) {
        const ms_event *event = &trace->events.items[i];
        count += is_counted(event);
        if (event->kind != MS_EVENT_MARK || !trace->marks.items[event->id].begin)
            continue;
        ms_json_object_inline(w, NULL);
        ms_json_string(w, "phase", ms_phase_name((ms_phase)trace->marks.items[event->id].phase));
        ms_json_uint(w, "event", count);
        ms_json_close(w);
    }
    ms_json_close(w);
}

void ms_json_levels(ms_json_writer *w, const char *name, const void *of)
{
    const ms_ledger *ledger = ((const ms_view *)of)->ledger;
    const ms_trace *trace = &ledger->simulation->trace;
    const ms_usage *usage = ledger->usage;
    uint32_t count = count_events(trace, usage), stride = stride_of(count);
    ms_json_object(w, name);
    ms_json_uint(w, "events", count);
    ms_json_uint(w, "stride", stride);
    write_phases(w, trace, usage);
    write_bytes(w, trace, usage, stride);
    ms_json_close(w);
}
