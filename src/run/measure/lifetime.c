/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run/measure/lifetime.h"

#include <stdlib.h>

ms_lifetime *ms_lifetimes_create(const ms_trace *trace)
{
    uint32_t count = trace->storages.count;
    ms_lifetime *lifetimes = malloc((count ? count : 1) * sizeof *lifetimes);
    if (!lifetimes)
        return NULL;
    for (uint32_t i = 0; i < count; i++)
        lifetimes[i] = (ms_lifetime){MS_NONE, MS_NONE};
    for (uint32_t e = 0; e < trace->events.count; e++) {
        const ms_event *event = &trace->events.items[e];
        switch ((ms_event_kind)event->kind) {
        case MS_EVENT_ALLOC:
            lifetimes[event->id].birth = e;
            break;
        case MS_EVENT_FREE:
            lifetimes[event->id].death = e;
            break;
        case MS_EVENT_OP_BEGIN:
        case MS_EVENT_OP_END:
        case MS_EVENT_MARK:
        case MS_EVENT_LAYER:
        case MS_EVENT_WORK:
        case MS_EVENT_WAIT:
        case MS_EVENT_RECORD:
        case MS_EVENT_HOST_EVENT:
        case MS_EVENT_HOST_WAIT:
        case MS_EVENT_EMPTY_CACHE:
            break;
        }
    }
    return lifetimes;
}

bool ms_lifetimes_exceed(const ms_trace *trace, uint64_t capacity_bytes)
{
    uint64_t live_bytes = 0, bytes;
    for (uint32_t i = 0; i < trace->events.count; i++) {
        const ms_event *event = &trace->events.items[i];
        switch ((ms_event_kind)event->kind) {
        case MS_EVENT_FREE:
            live_bytes -= trace->storages.items[event->id].bytes;
            break;
        case MS_EVENT_ALLOC:
            bytes = trace->storages.items[event->id].bytes;
            if (bytes > capacity_bytes || live_bytes > capacity_bytes - bytes)
                return true;
            live_bytes += bytes;
            break;
        case MS_EVENT_OP_BEGIN:
        case MS_EVENT_OP_END:
        case MS_EVENT_MARK:
        case MS_EVENT_LAYER:
        case MS_EVENT_WORK:
        case MS_EVENT_WAIT:
        case MS_EVENT_RECORD:
        case MS_EVENT_HOST_EVENT:
        case MS_EVENT_HOST_WAIT:
        case MS_EVENT_EMPTY_CACHE:
            break;
        }
    }
    return false;
}

uint64_t ms_lifetimes_most(const ms_trace *trace)
{
    uint64_t live_bytes = 0, most_bytes = 0;
    bool is_open = false;
    for (uint32_t i = 0; i < trace->events.count; i++) {
        const ms_event *event = &trace->events.items[i];
        if (event->kind == MS_EVENT_FREE)
            live_bytes -= trace->storages.items[event->id].bytes;
        else if (event->kind == MS_EVENT_ALLOC)
            live_bytes += trace->storages.items[event->id].bytes;
        else if (event->kind == MS_EVENT_MARK)
            is_open = trace->marks.items[event->id].begin && trace->marks.items[event->id].step > 0;
        if (is_open && live_bytes > most_bytes)
            most_bytes = live_bytes;
    }
    return most_bytes;
}
