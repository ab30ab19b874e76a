/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The graph as a whole: leaves, what it holds, where it ends, when it goes.
 */
#ifndef MS_AUTOGRAD_GRAPH_H
#define MS_AUTOGRAD_GRAPH_H

#include "autograd/tape.h"

/* Where the graph ends, and cutting off what was added behind: a rerun's nodes. */
typedef struct ms_graph_end {
    uint32_t nodes, metas, buffers, holds;
} ms_graph_end;
ms_graph_end ms_graph_end_of(const ms_tape *tape);
void ms_graph_cut(ms_tape *tape, ms_graph_end end);

/* A leaf, behind the parameters, that stands for the input in the graph of a rerun: a backward
 * leaves its gradient there. The input is held. */
uint32_t ms_leaf_add(ms_tape *tape, ms_tensor input);

/* Holds a tensor until the graph goes; the same of an activation that a node keeps for itself,
 * where neither hooks nor checkpoints see it. */
void ms_graph_hold(ms_tape *tape, ms_tensor tensor);
void ms_graph_hold_activation(ms_tape *tape, ms_tensor tensor);

/* tensor.requires_grad_(True) on a result that nothing trained made: its gradient is kept until the
 * graph goes. */
void ms_require_grad(ms_tape *tape, ms_tensor tensor);

/* Forgets the graph of a micro-step, when its loss is dropped. */
void ms_graph_drop(ms_tape *tape);

#endif
