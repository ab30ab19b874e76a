/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "torch/autograd/work.h"

#include "core/trace/build.h"

uint32_t ms_work_begin(ms_tape *tape, ms_work work)
{
    uint32_t index = ms_trace_add_work(tape->trace, work);
    if (index != MS_NONE)
        return index;
    ms_tape_fail(tape, MS_ERR_NOMEM);
    return 0;
}

void ms_work_wait(ms_tape *tape, uint32_t work)
{
    if (ms_trace_add_wait(tape->trace, MS_STREAM_OPERATORS, work) == MS_NONE)
        ms_tape_fail(tape, MS_ERR_NOMEM);
}
