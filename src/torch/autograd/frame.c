/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Frames: references held by Python's locals and arguments.
 */
#include "torch/autograd/tape.h"

ms_locals ms_locals_begin(ms_tape *tape)
{
    return (ms_locals){.tape = tape};
}

ms_tensor *ms_argument(ms_locals *frame, ms_tensor value)
{
    ms_retain(frame->tape, value);
    frame->arguments[frame->argument_count++] = value;
    return ms_local(frame, value);
}

ms_tensor *ms_local(ms_locals *frame, ms_tensor value)
{
    ms_retain(frame->tape, value);
    ms_tensor *slot = &frame->slots[frame->count++];
    *slot = value;
    return slot;
}

void ms_assign(ms_locals *frame, ms_tensor *local, ms_tensor value)
{
    if (frame->tape->stopped)
        return; /* an exception is on its way: nothing is bound */
    ms_retain(frame->tape, value);
    ms_tensor old = *local;
    *local = value;
    ms_release(frame->tape, old);
}

ms_tensor ms_locals_end(ms_locals *frame, const ms_tensor *result)
{
    ms_tape *tape = frame->tape;
    ms_tensor value = result && !tape->stopped ? *result : 0;
    ms_retain(tape, value);
    for (uint32_t i = 0; i < frame->count; i++)
        ms_release(tape, frame->slots[i]);
    for (uint32_t i = 0; i < frame->argument_count; i++)
        ms_release(tape, frame->arguments[i]);
    return ms_unown(tape, value);
}
