/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * One forward pass of a micro-batch, with the loss that the run asks for; and an evaluation between
 * two steps.
 */
#ifndef MS_STEP_FORWARD_H
#define MS_STEP_FORWARD_H

#include "model/blocks/model.h"

/* Under autocast if the run has it. The loss and, if they are kept, the logits are the caller's. */
ms_model_outputs ms_forward(ms_model *model, ms_tensor ids, bool keeps_logits);

#endif
