/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Activation checkpointing (torch.utils.checkpoint): full, selective, or with inputs on the host.
 */
#ifndef MS_TORCH_TREATMENTS_RECOMPUTE_H
#define MS_TORCH_TREATMENTS_RECOMPUTE_H

#include "torch/autograd/engine.h"
#include "input/config/run/run_config.h"

/* Options of a checkpoint; all zero: a plain one. */
typedef struct ms_checkpoint_options {
    const ms_kept_op *kept_ops; /* selective: operators whose results are kept; may be NULL */
    uint32_t kept_op_count;
    ms_input_place input_place;
} ms_checkpoint_options;

/* Sets the kind of all checkpoints of the tape; default non-reentrant. */
void ms_checkpoint_choose(ms_tape *tape, ms_checkpoint_kind kind);

/* Runs the region under a checkpoint: non-reentrant with early stop, or reentrant. The region
 * consumes its input. */
ms_tensor ms_checkpoint_run(ms_tape *tape, const ms_region *region, ms_tensor input);
ms_tensor ms_checkpoint_run_with(ms_tape *tape, const ms_region *region,
                                 const ms_checkpoint_options *options, ms_tensor input);

/* While a checkpoint's region runs again: adds, retained, what the graph behind two tensors
 * that outlive it saved in this run. Nothing otherwise. */
void ms_checkpoint_keep_graph(ms_tape *tape, const ms_tensor tensors[2], ms_shared_arguments *kept);

/* Arguments that the checkpoints of the graph keep: the one with index `number`, 0 if it is on the
 * host or absent; false past the last. */
bool ms_checkpoint_argument(const ms_tape *tape, uint32_t number, ms_tensor *tensor);

#endif
