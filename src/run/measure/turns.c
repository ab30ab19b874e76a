/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run/measure/turns.h"

#include <stdlib.h>

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
