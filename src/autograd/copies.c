/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "autograd/copies.h"

#include "autograd/engine.h"

static uint32_t begin(ms_tape *tape, ms_copy copy)
{
    uint32_t index = tape->trace->copies.count;
    if (!ms_vec_push(&tape->trace->copies, copy)) {
        ms_tape_fail(tape, MS_ERR_NOMEM);
        return 0;
    }
    ms_trace_event(tape, MS_EVENT_COPY, index);
    return index;
}

uint32_t ms_copy_begin(ms_tape *tape, uint64_t bytes, ms_lane lane)
{
    return begin(tape, (ms_copy){.bytes = bytes, .layer = MS_NONE, .lane = lane, .after = MS_NONE});
}

uint32_t ms_copy_begin_after(ms_tape *tape, uint64_t bytes, ms_lane lane, uint32_t after)
{
    return begin(tape, (ms_copy){.bytes = bytes, .layer = MS_NONE, .lane = lane, .after = after});
}

uint32_t ms_copy_begin_saved(ms_tape *tape, uint64_t bytes, uint32_t layer, ms_lane lane)
{
    return begin(tape, (ms_copy){.bytes = bytes, .layer = layer, .lane = lane, .after = MS_NONE});
}

void ms_copy_wait(ms_tape *tape, uint32_t copy)
{
    ms_trace_event(tape, MS_EVENT_WAIT, copy);
}
