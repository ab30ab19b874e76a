/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The ring that shares sequences, and what forward and backward of its attention have in common.
 */
#ifndef MS_TORCH_OPS_ATTENTION_RING_PARTS_H
#define MS_TORCH_OPS_ATTENTION_RING_PARTS_H

#include "torch/autograd/tape.h"

/* From now on flash attention is a ring of so many ranks; `rank` is this one's number in it. */
void ms_ring_begin(ms_tape *tape, uint64_t ranks, uint64_t rank);
/* Whether there is a ring. */
bool ms_ring_is_there(const ms_tape *tape);

typedef struct ms_ring {
    uint64_t ranks, rank;
    uint32_t stream;
} ms_ring;

/* Slots in which the node saves. */
enum { MS_RING_K, MS_RING_Q, MS_RING_V, MS_RING_LSE, MS_RING_OUT };

const ms_ring *ms_ring_of(const ms_tape *tape);

/* Half of the tokens of [B, H, S, D], or of [B, H, S]: a floating view. */
ms_tensor ms_ring_half(ms_tape *tape, ms_tensor tensor);
/* The tensor, or if it is not contiguous a copy; floating. */
ms_tensor ms_ring_contiguous(ms_tape *tape, ms_tensor tensor);
/* Keys and values of so many ranks, joined and flat. */
ms_tensor ms_ring_pair(ms_tape *tape, ms_tensor key, uint64_t ranks, ms_dtype dtype);
/* The same of all ranks: gathers them. */
ms_tensor ms_ring_gather(ms_tape *tape, ms_tensor key);
/* A collective that moves so many bytes, for which the operators wait. */
void ms_ring_enqueue(ms_tape *tape, ms_work_kind work, uint64_t bytes);

#endif
