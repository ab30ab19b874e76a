/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Running the tape backward.
 */
#ifndef MS_TORCH_AUTOGRAD_ENGINE_H
#define MS_TORCH_AUTOGRAD_ENGINE_H

#include "torch/autograd/tape.h"

/* ---- rerun ---- */

/* Rerunning a region of forward during backward. */

/* Runs the region's program. */
typedef ms_tensor (*ms_region_fn)(ms_tape *tape, void *context, uint64_t number, ms_tensor input);

/* A container among the arguments of regions, whose content they may change. It lives as long as
 * something refers to it: forward, and checkpoints of regions that got it. */
typedef struct ms_shared_arguments {
    uint32_t references;
    void (*drop)(ms_tape *tape, void *own); /* lets go of `own` first; NULL: there is none */
    void *own;
    ms_vec(ms_tensor) items; /* retained */
} ms_shared_arguments;

/* One reference more, or less (NULL: nothing); the last one lets go of what is in it. */
void ms_shared_retain(ms_shared_arguments *shared);
void ms_shared_release(ms_tape *tape, ms_shared_arguments *shared);

/* A region of forward that may run again: run(tape, context, number, input). `positional` points to
 * a second positional argument, saved like the input (NULL or 0: none); `held` are keyword
 * arguments, kept as long (0: none), or, where it `saves_held`, positional ones that are not
 * replaced. */
typedef struct ms_region {
    ms_region_fn run;
    void *context;
    uint64_t number;
    ms_tensor *positional;
    ms_shared_arguments *shared; /* NULL: none */
    ms_tensor held[MS_MAX_KEPT_ARGUMENTS];
    bool saves_held;
} ms_region;

/* In a node's backward: runs the region with its own graph on `input` (floating; consumed), then
 * backward from its result with `grad`; the caller truncates the graph (ms_graph_cut). Returns the
 * gradient of the input, floating. Autocast's copies of weights are dropped before that backward,
 * or kept until ms_autocast_clear. */
typedef enum ms_rerun_casts { MS_RERUN_DROPS_CASTS, MS_RERUN_KEEPS_CASTS } ms_rerun_casts;
ms_tensor ms_rerun(ms_tape *tape, const ms_region *region, ms_tensor input, ms_tensor grad,
                   ms_rerun_casts casts);

/* Switches the tape to forward during a backward, until ms_rerun_end restores it. */
typedef struct ms_rerun_mode {
    uint8_t pass;
    bool had_autocast;
} ms_rerun_mode;
ms_rerun_mode ms_rerun_begin(ms_tape *tape);
void ms_rerun_end(ms_tape *tape, ms_rerun_mode mode);

/* torch.get_rng_state() if the device is the CPU, retained; else 0. */
ms_tensor ms_host_random_state(ms_tape *tape);

/* Drops autocast's copies of weights; called when its context ends. */
void ms_autocast_clear(ms_tape *tape);

/* Runs backward from `root` with gradient `grad` (floating or owned by the caller). Nodes run in
 * descending order; gradients of parameters are accumulated in tape->parameters. */
void ms_backward(ms_tape *tape, ms_tensor root, ms_tensor grad);

/* ---- a backward pass in two parts ---- */

/* What lies between the parts: the graph, which the nodes with parameters hold on to, and the
 * gradients that arrived at them. Source: PyTorch 2.11's torch/distributed/pipelining/_backward.py;
 * names of its variables are in the comments. */

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

/* Backward in two parts, as torch.distributed.pipelining's stage_backward_input and
 * stage_backward_weight have it: first the gradients of what is no parameter, then, in one call
 * after it, those of parameters. Nodes with parameters must have one output, saved tensors no
 * hooks. */
void ms_backward_inputs(ms_tape *tape, ms_tensor root, ms_tensor grad, ms_backward_split *split);
void ms_backward_weights(ms_tape *tape, ms_backward_split *split);

/* ---- gradients ---- */

/* Sum a gradient to `shape`, and cast it to `dtype`, as the engine does before it passes a gradient
 * on; operators use them too. */
ms_tensor ms_sum_to(ms_tape *tape, ms_tensor grad, const ms_shape *shape);

#endif
