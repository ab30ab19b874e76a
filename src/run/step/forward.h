/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The forward pass of one micro-batch, with the run's loss.
 */
#ifndef MS_RUN_STEP_FORWARD_H
#define MS_RUN_STEP_FORWARD_H

#include "model/blocks/model.h"
#include "run/step/batches.h"

/* Runs under autocast if the run does. The caller owns the loss and, if kept, the logits. */
ms_model_outputs ms_forward(ms_model *model, ms_tensor ids, bool keeps_logits);
/* Whether the loss is the model's own; else it is made of the logits. */
bool ms_forward_has_loss(const ms_model *model);

/* ---- evaluation ---- */

/* Trainer's evaluation loop: batches without gradients, whose losses, and optionally logits and
 * labels, are concatenated on the device. */

/* A batch of an evaluation, and what the model has beside it while it trains. */
typedef struct ms_evaluation {
    ms_batch given;
    const ms_run_config *run;
    ms_dim batch, seq;
    ms_tensor mask, position_ids;
} ms_evaluation;

/* Gives the model a batch of `run`, which the caller owns: a copy of its own, of whose fields those
 * of a batch are changed. Sequences are joined to one where those of training are. */
ms_evaluation ms_evaluation_begin(ms_model *model, ms_run_config *run);
/* Gives it back what it had. */
void ms_evaluation_end(ms_model *model, ms_evaluation *evaluation);
/* Runs the evaluation; ids: [eval_batch, S]; keeps_logits: logits and labels are collected. */
void ms_evaluate(ms_model *model, ms_tensor ids, bool keeps_logits);

#endif
