/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Ring attention, backward.
 */
#ifndef MS_TORCH_OPS_ATTENTION_RING_BACKWARD_H
#define MS_TORCH_OPS_ATTENTION_RING_BACKWARD_H

#include "torch/autograd/tape.h"

/* The backward of ms_ring_attention: a node's function. */
void ms_ring_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out);

#endif
