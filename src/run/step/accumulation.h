/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Gradient accumulation in fp32 for half-precision parameters: a hook adds each gradient to a
 * buffer, created by the first one, and releases it; before the optimizer step the sums are cast
 * back to the parameters' dtype.
 */
#ifndef MS_RUN_STEP_ACCUMULATION_H
#define MS_RUN_STEP_ACCUMULATION_H

#include "run/step/optimizer.h"

/* Install accumulation if the run asks for it, and hand the sums over to the parameters. */
void ms_accumulation_build(ms_tape *tape);
void ms_accumulation_hand_over(ms_tape *tape);

#endif
