/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "measure/lifetime.h"

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
        if (event->kind == MS_EVENT_ALLOC)
            lifetimes[event->id].birth = e;
        else if (event->kind == MS_EVENT_FREE)
            lifetimes[event->id].death = e;
    }
    return lifetimes;
}
