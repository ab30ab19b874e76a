/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Work other than operators, on streams of their own.
 */
#ifndef MS_TORCH_AUTOGRAD_WORK_H
#define MS_TORCH_AUTOGRAD_WORK_H

#include "torch/autograd/tape.h"

/* ms_work_of describes copies and host updates on the predefined streams. ms_work_begin enqueues
 * work and returns its index; operators after ms_work_wait start when that work is done. */
static inline ms_work ms_work_of(ms_work_kind kind, uint64_t bytes)
{
    return (ms_work){.kind = (uint8_t)kind,
                     .stream = kind == MS_WORK_TO_DEVICE ? MS_STREAM_TO_DEVICE
                               : kind == MS_WORK_TO_HOST ? MS_STREAM_TO_HOST
                                                         : MS_STREAM_UPDATES,
                     .source = MS_NONE,
                     .target = MS_NONE,
                     .group = MS_NONE,
                     .after = MS_NONE,
                     .layer = MS_NONE,
                     .bytes = bytes,
                     .scope = MS_NONE};
}
uint32_t ms_work_begin(ms_tape *tape, ms_work work);
void ms_work_wait(ms_tape *tape, uint32_t work);

#endif
