/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Running the tape backward.
 */
#ifndef MS_AUTOGRAD_ENGINE_H
#define MS_AUTOGRAD_ENGINE_H

#include "autograd/tape.h"

/* Runs backward from `root` with gradient `grad` (floating or owned by the caller). Nodes run in
 * descending order; gradients of parameters are accumulated in tape->parameters. */
void ms_backward(ms_tape *tape, ms_tensor root, ms_tensor grad);

/* Sum a gradient to `shape`, and cast it to `dtype`, as the engine does before it passes a gradient
 * on; operators use them too. */
ms_tensor ms_sum_to(ms_tape *tape, ms_tensor grad, const ms_shape *shape);
ms_tensor ms_cast_raw(ms_tape *tape, ms_tensor tensor, ms_dtype dtype);

/* Adds `tensor` (its reference moves) into `*slot`, in place where PyTorch would. */
void ms_accumulate(ms_tape *tape, ms_tensor *slot, ms_tensor tensor);

#endif
