/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Gradients of parameters in half precision that add up in fp32: a hook adds each to a buffer,
 * which the first one makes, and lets it go; before the optimizer steps they come back in the
 * parameter's type.
 */
#ifndef MS_STEP_ACCUMULATION_H
#define MS_STEP_ACCUMULATION_H

#include "step/optimizer.h"

/* Gradients that add up in fp32, if the run says so (accumulation.c): from now on backward adds
 * them up; and they come back in the parameters' type. */
void ms_accumulation_build(ms_tape *tape);
void ms_accumulation_hand_over(ms_tape *tape);

#endif
