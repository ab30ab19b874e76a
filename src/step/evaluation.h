/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Trainer's evaluation loop: batches without gradients, whose losses, and optionally logits and
 * labels, are concatenated on the device.
 */
#ifndef MS_STEP_EVALUATION_H
#define MS_STEP_EVALUATION_H

#include "step/forward.h"

/* Runs the evaluation; ids: [eval_batch, S]; keeps_logits: logits and labels are collected. */
void ms_evaluate(ms_model *model, ms_tensor ids, bool keeps_logits);

#endif
