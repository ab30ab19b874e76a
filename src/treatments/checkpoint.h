/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Activation checkpointing (torch.utils.checkpoint), plain, selective, or with inputs on the host.
 */
#ifndef MS_TREATMENTS_CHECKPOINT_H
#define MS_TREATMENTS_CHECKPOINT_H

#include "autograd/rerun.h"
#include "config/run/run_config.h"

/* What a checkpoint does besides; all zero: nothing. */
typedef struct ms_checkpoint_options {
    const ms_kept_op *kept_ops; /* selective: operators whose results stay; may be NULL */
    uint32_t kept_op_count;
    ms_input_place input_place;
} ms_checkpoint_options;

/* All checkpoints of the tape are of this kind; without a call, non-reentrant. */
void ms_checkpoint_choose(ms_tape *tape, ms_checkpoint_kind kind);

/* Runs the region under a checkpoint: non-reentrant with early stop, or reentrant. The region
 * consumes its input. */
ms_tensor ms_checkpoint_run(ms_tape *tape, const ms_region *region, ms_tensor input);
ms_tensor ms_checkpoint_run_with(ms_tape *tape, const ms_region *region,
                                 const ms_checkpoint_options *options, ms_tensor input);

/* What the checkpoints of the graph hold themselves: argument `number` from 0 on, 0 where it is on
 * the host or there is none; false behind the last. */
bool ms_checkpoint_argument(const ms_tape *tape, uint32_t number, ms_tensor *tensor);

#endif
