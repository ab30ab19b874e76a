/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The autograd graph as a whole: its leaves, the tensors it keeps, truncating and dropping it.
 */
#ifndef MS_TORCH_AUTOGRAD_GRAPH_H
#define MS_TORCH_AUTOGRAD_GRAPH_H

#include "torch/autograd/tape.h"

/* The current end of the graph, and truncating the graph to it: removes the nodes of a rerun. */
typedef struct ms_graph_end {
    uint32_t nodes, metas, buffers, holds;
} ms_graph_end;
ms_graph_end ms_graph_end_of(const ms_tape *tape);
void ms_graph_cut(ms_tape *tape, ms_graph_end end);

/* Frees what the nodes from number `first` up to `end` saved, the last node first: as when a result
 * is dropped that nothing else was made of, so that backward does not reach them. */
void ms_graph_forget(ms_tape *tape, uint32_t first, uint32_t end);
/* While it runs: notes that the tensor had been saved (0: nothing), in tape->forgotten. */
void ms_graph_note_forgotten(ms_tape *tape, ms_tensor tensor);

/* Adds a leaf, after the parameters, for the input of a rerun's graph; backward stores the input's
 * gradient there. The input is retained. */
uint32_t ms_leaf_add(ms_tape *tape, ms_tensor input);

/* Keep a tensor until the graph is dropped; the second, an activation that a node keeps itself,
 * unseen by hooks and checkpoints. */
void ms_graph_hold(ms_tape *tape, ms_tensor tensor);
void ms_graph_hold_activation(ms_tape *tape, ms_tensor tensor);

/* tensor.requires_grad_(True) on a result that no trained parameter contributed to; its gradient is
 * kept until the graph is dropped. */
void ms_require_grad(ms_tape *tape, ms_tensor tensor);
/* Drops such tensors but for the first `kept`, with their gradients. */
void ms_graph_drop_leaves(ms_tape *tape, uint32_t kept);

/* Drops the graph of a micro-step, as when its loss is dropped. */
void ms_graph_drop(ms_tape *tape);

#endif
