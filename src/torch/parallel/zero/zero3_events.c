/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "torch/parallel/zero/zero3_events.h"

void ms_zero3_limit(ms_tape *tape, ms_zero3_events *events)
{
    enum { MOST_AHEAD = 2 };
    ms_zero_indices *numbers = &events->numbers;
    while (events->first < numbers->count && numbers->items[events->first] < tape->host_done)
        events->first++;
    if (numbers->count - events->first > MOST_AHEAD)
        ms_host_waits_for(tape, numbers->items[events->first++]);
    if (events->first == numbers->count)
        events->first = numbers->count = 0;
}

void ms_zero3_note(ms_tape *tape, ms_zero3_events *events)
{
    if (!ms_idle(tape) && !ms_vec_push(&events->numbers, ms_host_event(tape)))
        ms_tape_fail(tape, MS_ERR_NOMEM);
}
