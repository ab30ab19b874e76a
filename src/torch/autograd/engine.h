/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Running the tape backward.
 */
#ifndef MS_TORCH_AUTOGRAD_ENGINE_H
#define MS_TORCH_AUTOGRAD_ENGINE_H

#include "torch/autograd/split.h"
#include "torch/autograd/tape.h"

/* Runs backward from `root` with gradient `grad` (floating or owned by the caller). Nodes run in
 * descending order; gradients of parameters are accumulated in tape->parameters. */
void ms_backward(ms_tape *tape, ms_tensor root, ms_tensor grad);

/* Backward in two parts, as torch.distributed.pipelining's stage_backward_input and
 * stage_backward_weight have it: first the gradients of what is no parameter, then, in one call
 * after it, those of parameters. Nodes with parameters must have one output, saved tensors no
 * hooks. */
void ms_backward_inputs(ms_tape *tape, ms_tensor root, ms_tensor grad, ms_backward_split *split);
void ms_backward_weights(ms_tape *tape, ms_backward_split *split);

/* Sum a gradient to `shape`, and cast it to `dtype`, as the engine does before it passes a gradient
 * on; operators use them too. */
ms_tensor ms_sum_to(ms_tape *tape, ms_tensor grad, const ms_shape *shape);
ms_tensor ms_cast_raw(ms_tape *tape, ms_tensor tensor, ms_dtype dtype);

/* Adds `tensor` (its reference moves) into `*slot`, in place where PyTorch would. */
void ms_accumulate(ms_tape *tape, ms_tensor *slot, ms_tensor tensor);

#endif
