/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * DTensor's redistributions over a mesh of one dimension, as PyTorch 2.11 runs them: functional
 * collectives, whose results are new tensors. All operators consume floating arguments once their
 * result exists, and all results float. The rank's own part is what a tensor's shape says.
 */
#ifndef MS_TORCH_OPS_DTENSOR_DTENSOR_H
#define MS_TORCH_OPS_DTENSOR_DTENSOR_H

#include "torch/autograd/tape.h"

/* The mesh; before any of the functions below. */
void ms_mesh_begin(ms_tape *tape, uint64_t ranks);

/* ---- collectives, outside autograd (collectives.c) ---- */

/* The parts of all ranks, one after the other along `dim`: a copy, where another dimension that is
 * not 1 stands before it. */
ms_tensor ms_mesh_all_gather(ms_tape *tape, ms_tensor tensor, uint32_t dim);

/* When the copy goes that the reduction of a dimension other than the first sends: when somebody
 * waits for the result. */
typedef enum ms_mesh_wait {
    MS_WAITS_NOW,
    MS_WAITS_FOR_OPERATOR, /* with the next operator */
    MS_WAITS_FOR_CALL      /* with ms_mesh_wait_for */
} ms_mesh_wait;

ms_tensor ms_mesh_reduce_scatter(ms_tape *tape, ms_tensor tensor, uint32_t dim, ms_mesh_wait wait);

void ms_mesh_wait_for(ms_tape *tape);

/* ---- redistributions (redistribute.c); gradients go the other way ---- */

/* From the same tensor on all ranks; its gradients are sums to be made. */
ms_tensor ms_mesh_enter(ms_tape *tape, ms_tensor x);

/* This rank's part, as it is; its gradient is the part's. */
ms_tensor ms_mesh_own(ms_tape *tape, ms_tensor x);

/* From parts of the tokens (dimension 1) to all of them; the gradient is a sum to be made.
 * `at_once`: backward waits for it. */
ms_tensor ms_mesh_gather_tokens(ms_tape *tape, ms_tensor x, bool at_once);

/* From partial sums to their sum. */
ms_tensor ms_mesh_sum(ms_tape *tape, ms_tensor x);

/* From partial sums to this rank's tokens of their sum. */
ms_tensor ms_mesh_sum_tokens(ms_tape *tape, ms_tensor x, ms_mesh_wait wait);

/* From parts of the last dimension to all of it. */
ms_tensor ms_mesh_gather_last(ms_tape *tape, ms_tensor x);

/* The rows that this rank has, zeros for others; the gradient is that of the whole table. */
ms_tensor ms_mesh_embedding(ms_tape *tape, ms_tensor weight, ms_tensor ids);

/* Cross entropy of [N, V / ranks] scores in fp32 and [N] labels: the scalar mean. */
ms_tensor ms_mesh_cross_entropy(ms_tape *tape, ms_tensor scores, ms_tensor labels);

#endif
