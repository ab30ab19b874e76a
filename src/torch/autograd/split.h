/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What lies between the two parts of a backward pass that is split: the graph, which the nodes with
 * parameters hold on to, and the gradients that arrived at them. Source: PyTorch 2.11's
 * torch/distributed/pipelining/_backward.py; names of its variables are in the comments.
 */
#ifndef MS_TORCH_AUTOGRAD_SPLIT_H
#define MS_TORCH_AUTOGRAD_SPLIT_H

#include "torch/autograd/tape.h"

/* A node with parameters (a param_group). */
typedef struct ms_split_group {
    uint32_t node;
    ms_tensor gradient; /* of its output */
} ms_split_group;

/* Of one micro-batch. Its owner sets the range of nodes and gives the tables. */
typedef struct ms_backward_split {
    uint32_t first, end;    /* nodes of its forward */
    uint32_t *holders;      /* by node of the range: how many hold on to it; room for all */
    ms_split_group *groups; /* in the order in which backward ran; room for all nodes */
    uint32_t count;
    uint32_t root;
} ms_backward_split;

/* Keeps a node's edges to parameters, or the others. What was received is no parameter. */
void ms_split_keep(const ms_tape *tape, ms_node *node, bool of_parameters);

void ms_split_begin(ms_backward_split *split, ms_tape *tape, uint32_t root);
/* A gradient arrives at a node: it is kept if the node has parameters. */
void ms_split_capture(ms_backward_split *split, ms_tape *tape, uint32_t node, ms_tensor gradient);
/* The root is detached: what no node with parameters leads to is freed. */
void ms_split_detach(ms_backward_split *split, ms_tape *tape);

/* Runs a node for its parameters; out[i]: the gradient of input i, held, or 0. */
typedef void (*ms_split_runner)(ms_tape *tape, uint32_t node, ms_tensor gradient, ms_tensor *out);
/* The second part, in the order of parameters; afterwards nothing of the graph is left. */
void ms_split_weights(ms_backward_split *split, ms_tape *tape, ms_split_runner run);

#endif
