/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/advise/suggestion.h"

#include <math.h>

void ms_suggestion_read(const ms_summary *before, const ms_effect *o, ms_suggestion *s)
{
    s->device_bytes = o->device_bytes;
    s->saved_device_bytes = (int64_t)(before->expected_device_bytes - o->device_bytes);
    s->saved_peak_bytes = (int64_t)(before->peak_memory_bytes - o->peak_bytes);
    s->host_bytes = o->host_bytes;
    s->reason = o->reason;
    s->told = o->told;
    s->step_ms = o->step_ms > 0 ? o->step_ms : 0;
    s->added_time =
        o->step_ms > 0 && before->step_time_ms > 0 ? o->step_ms / before->step_time_ms - 1 : NAN;
}

void ms_suggestion_read_device(const ms_effect *o, ms_suggestion *s)
{
    s->device_bytes = o->device_bytes;
    s->host_bytes = o->host_bytes;
    s->reason = o->reason;
    s->told = o->told;
    s->added_time = NAN;
}

bool ms_suggestion_fill_texts(ms_suggestion *s, ms_arena *arena)
{
    s->option = ms_arena_strdup(arena, s->option);
    const char *device = s->found.device;
    s->found.device = device ? ms_arena_strdup(arena, device) : NULL;
    s->title = device ? ms_arena_printf(arena, "a larger device, %s", device)
                      : ms_combination_title(s->found.set, arena);
    s->changes = ms_combination_changes(s->found.set, arena);
    s->count = device ? 1 : ms_combination_count(s->found.set);
    s->cost = device ? MS_COST_DEVICE : ms_combination_cost(s->found.set);
    return s->option && s->title && s->changes && (!device || s->found.device);
}
