/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Gradient clipping.
 */
#ifndef MS_RUN_STEP_CLIP_H
#define MS_RUN_STEP_CLIP_H

#include "run/step/optimizer.h"

/* torch.nn.utils.clip_grad_norm_(parameters, ...), foreach implementation. */
void ms_clip_gradients(ms_tape *tape);

#endif
