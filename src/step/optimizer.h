/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Optimizers and gradient clipping over the tape's parameters.
 */
#ifndef MS_STEP_OPTIMIZER_H
#define MS_STEP_OPTIMIZER_H

#include "autograd/tape.h"

/* Makes the states of an optimizer that makes them with itself. */
void ms_optimizer_build(ms_tape *tape);

/* One optimizer.step(): creates states for parameters that have none yet, then updates. */
void ms_optimizer_step(ms_tape *tape);

/* States on the device; but step counters that are kept on the host are state all the same. */
uint64_t ms_optimizer_state_bytes(ms_tape *tape);

/* Memory of the host: copies of parameters and gradients, and states; on the device, its states in
 * unified memory. */
uint64_t ms_optimizer_host_bytes(ms_tape *tape);

/* optimizer.zero_grad(set_to_none=True) */
void ms_zero_grad(ms_tape *tape);

#endif
