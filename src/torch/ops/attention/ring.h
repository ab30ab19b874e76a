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

/* ---- ring parts ---- */

/* The ring that shares sequences, and what forward and backward of its attention have in
 * common. */

/* From now on flash attention is a ring of so many ranks; `rank` is this one's number in it. */
void ms_ring_begin(ms_tape *tape, uint64_t ranks, uint64_t rank);
/* Whether there is a ring. */
bool ms_ring_is_there(const ms_tape *tape);

/* Causal attention over [B, H, S, D], S being this rank's tokens. Borrows its arguments. */
ms_tensor ms_ring_attention(ms_tape *tape, ms_tensor q, ms_tensor k, ms_tensor v);

#endif
