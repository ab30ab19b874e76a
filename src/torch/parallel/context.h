/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Context parallelism: the tokens of each sequence are shared by several ranks. Before a micro-step
 * the inputs are put in the order of the ranks and cut, as context_parallel() of PyTorch 2.11 does
 * (torch/distributed/tensor/experimental/_context_parallel); attention is a ring
 * (torch/ops/attention/ring.h).
 */
#ifndef MS_TORCH_PARALLEL_CONTEXT_H
#define MS_TORCH_PARALLEL_CONTEXT_H

#include "torch/autograd/tape.h"

/* What the model is given: this rank's tokens and their positions, [B, S / ranks]. */
typedef struct ms_context_parts {
    ms_tensor ids, positions; /* views, owned by the context */
} ms_context_parts;

/* Makes the positions of whole sequences and then their tokens, [B, S], on the device. `part` is
 * the shape [B, S / ranks]. Without context parallelism nothing is done. */
void ms_context_build(ms_tape *tape, ms_shape part);
/* Around a micro-step; the parts are valid in between. */
ms_context_parts ms_context_enter(ms_tape *tape);
void ms_context_leave(ms_tape *tape);

#endif
