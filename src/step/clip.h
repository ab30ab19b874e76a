/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * torch.nn.utils.clip_grad_norm_, the foreach way.
 */
#ifndef MS_STEP_CLIP_H
#define MS_STEP_CLIP_H

#include "step/optimizer.h"

/* torch.nn.utils.clip_grad_norm_(parameters, ...), the foreach way. */
void ms_clip_gradients(ms_tape *tape);

#endif
