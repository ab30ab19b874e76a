/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Running the tape backward, and activation checkpointing.
 */
#ifndef MS_TAPE_ENGINE_H
#define MS_TAPE_ENGINE_H

#include "tape/tape.h"

/* Runs backward from `root` with gradient `grad` (floating or held by the caller). Nodes run by
 * descending number; gradients of parameters end in tape->parameters. */
void ms_backward(ms_tape *tape, ms_tensor root, ms_tensor grad);

/* What the engine does with a gradient before it hands it on; operators use them too. */
ms_tensor ms_sum_to(ms_tape *tape, ms_tensor grad, const ms_shape *shape);
ms_tensor ms_cast_raw(ms_tape *tape, ms_tensor tensor, ms_dtype dtype);

/* Adds `tensor` (its reference moves) into `*slot`, in place where PyTorch would. */
void ms_accumulate(ms_tape *tape, ms_tensor *slot, ms_tensor tensor);

/* What a checkpoint runs: region(tape, context, number, input). `positional` is a second positional
 * argument, saved as the input is; `held` are keyword arguments, which live as long (0: none). */
typedef struct ms_region {
    ms_region_fn run;
    void *context;
    uint64_t number;
    ms_tensor positional;
    ms_tensor held[MS_MAX_HELD];
} ms_region;

/* Runs the region under a checkpoint: non-reentrant with early stop, or reentrant, as tape->run
 * says. */
ms_tensor ms_checkpoint_run(ms_tape *tape, const ms_region *region, ms_tensor input);

/* Forgets the graph of a micro-step, when its loss is dropped. */
void ms_graph_drop(ms_tape *tape);

/* Internal to the tape: the tensor of a saved slot, recomputed if need be; and its release. */
ms_tensor ms_checkpoint_unpack(ms_tape *tape, uint32_t frame, uint32_t index);
void ms_checkpoint_drop(ms_tape *tape, uint32_t frame, uint32_t holders);

/* The copies of weights that autocast made; called when its context ends. */
void ms_autocast_clear(ms_tape *tape);

#endif
