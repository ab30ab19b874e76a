/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Copies and work beside the compute stream, on lanes of their own.
 */
#ifndef MS_AUTOGRAD_COPIES_H
#define MS_AUTOGRAD_COPIES_H

#include "autograd/tape.h"

/* Gives a lane something to do, and yields its number; what follows a wait comes after that. */
uint32_t ms_copy_begin(ms_tape *tape, uint64_t bytes, ms_lane lane);
uint32_t ms_copy_begin_after(ms_tape *tape, uint64_t bytes, ms_lane lane, uint32_t after);
/* The copy of a tensor that this layer saved. */
uint32_t ms_copy_begin_saved(ms_tape *tape, uint64_t bytes, uint32_t layer, ms_lane lane);
void ms_copy_wait(ms_tape *tape, uint32_t copy);

#endif
