/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The heap of nodes that are ready to run backward: the largest number first. A nested run uses the
 * part of the table from `base` on.
 */
#ifndef MS_TORCH_AUTOGRAD_READY_H
#define MS_TORCH_AUTOGRAD_READY_H

#include "torch/autograd/tape.h"

void ms_ready_push(ms_tape *tape, uint32_t base, uint32_t node);
/* There must be one. */
uint32_t ms_ready_pop(ms_tape *tape, uint32_t base);

#endif
