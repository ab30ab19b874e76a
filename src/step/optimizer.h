/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Optimizers and gradient clipping over the tape's parameters.
 */
#ifndef MS_STEP_OPTIMIZER_H
#define MS_STEP_OPTIMIZER_H

#include "tape/tape.h"

/* One optimizer.step(): creates states for parameters that have none yet, then updates. */
void ms_optimizer_step(ms_tape *tape);

/* Memory of the host: copies of parameters and gradients, and states; 0 when it is on the device.
 */
uint64_t ms_optimizer_host_bytes(ms_tape *tape);

/* optimizer.zero_grad(set_to_none=True) */
void ms_zero_grad(ms_tape *tape);

/* torch.nn.utils.clip_grad_norm_(parameters, ...), the foreach way. */
void ms_clip_gradients(ms_tape *tape);

#endif
