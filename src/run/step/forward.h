/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The forward pass of one micro-batch, with the run's loss.
 */
#ifndef MS_RUN_STEP_FORWARD_H
#define MS_RUN_STEP_FORWARD_H

#include "model/blocks/model.h"

/* Runs under autocast if the run does. The caller owns the loss and, if kept, the logits. */
ms_model_outputs ms_forward(ms_model *model, ms_tensor ids, bool keeps_logits);
/* Whether the loss is the model's own; else it is made of the logits. */
bool ms_forward_has_loss(const ms_model *model);

#endif
