/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Optimizers and gradient clipping over the tape's parameters.
 */
#ifndef MS_RUN_STEP_OPTIMIZER_H
#define MS_RUN_STEP_OPTIMIZER_H

#include "torch/autograd/tape.h"

/* Creates the states of an optimizer whose constructor does so. */
void ms_optimizer_build(ms_tape *tape);

/* One optimizer.step(): creates states for parameters that have none yet, then updates. */
void ms_optimizer_step(ms_tape *tape);

/* Bytes of states on the device; step counters on the host are included. */
uint64_t ms_optimizer_state_bytes(ms_tape *tape);

/* Bytes on the host: states, and copies of parameters and gradients; for an optimizer on the
 * device, its states in unified memory. */
uint64_t ms_optimizer_host_bytes(ms_tape *tape);

/* optimizer.zero_grad(set_to_none=True) */
void ms_zero_grad(ms_tape *tape);

#endif
