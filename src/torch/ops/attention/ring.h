/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Ring attention: the tokens of a sequence are shared by several ranks, each of which has two of
 * its parts, one from the front and one from the back. Keys and values of all ranks are gathered;
 * each rank's are used in turn, and the results are merged in fp32. Follows PyTorch 2.11's
 * torch/distributed/tensor/experimental/_context_parallel/_attention.py with its default
 * load balancing and rotation.
 */
#ifndef MS_TORCH_OPS_ATTENTION_RING_H
#define MS_TORCH_OPS_ATTENTION_RING_H

#include "torch/autograd/tape.h"

/* Causal attention over [B, H, S, D], S being this rank's tokens. Borrows its arguments. */
ms_tensor ms_ring_attention(ms_tape *tape, ms_tensor q, ms_tensor k, ms_tensor v);

#endif
