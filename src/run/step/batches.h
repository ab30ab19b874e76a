/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The batches of a training loop on the device, and what the loop keeps beside them: losses, their
 * sum, the number of labels, the norm of the gradients. See ms_loop.
 *
 * Source: Trainer's get_batch_samples, _run_epoch and training_step (transformers 5.24).
 */
#ifndef MS_RUN_STEP_BATCHES_H
#define MS_RUN_STEP_BATCHES_H

#include "base/vec.h"
#include "model/blocks/model.h"
#include "run/step/run.h"

/* Tensors held by the loop; 0: there is none. */
typedef struct ms_batch {
    ms_tensor ids, mask, labels;
    ms_packed_rows packed;
} ms_batch;

typedef struct ms_batches {
    ms_model *model;
    ms_loop loop;
    ms_vec(ms_batch) current; /* the only one, or those of a step in their order */
    ms_tensor held;           /* the loss of the micro-step before, which the loop still names */
    ms_tensor loss, divided;  /* that of the running one, and where it is scaled what is */
    ms_tensor total, norm;    /* Trainer's sum of losses, and the norm of the gradients */
} ms_batches;

/* In the phase that builds; a fixed batch is there from then on. */
void ms_batches_build(ms_batches *batches, ms_model *model);
/* Before the first micro-step of a step, and before each one of `index`: the ids of its batch. */
void ms_batches_begin(ms_batches *batches);
ms_tensor ms_batches_enter(ms_batches *batches, uint64_t index);
/* Takes a loss that the caller owns, and yields what backward begins with, which it owns. */
ms_tensor ms_batches_take(ms_batches *batches, ms_tensor loss);
/* After the micro-step, and once the norm of the gradients is known, clipped or not. */
void ms_batches_leave(ms_batches *batches);
void ms_batches_measured(ms_batches *batches);
void ms_batches_free(ms_batches *batches);

#endif
