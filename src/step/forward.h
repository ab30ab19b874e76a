/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * One forward pass of a micro-batch, with the loss that the run asks for; and an evaluation between
 * two steps.
 */
#ifndef MS_STEP_FORWARD_H
#define MS_STEP_FORWARD_H

#include "model/blocks/model.h"

/* Both are the caller's; logits are 0 unless the model hands them out (model->keeps_logits). */
typedef struct ms_outputs {
    ms_tensor loss, logits;
} ms_outputs;

/* Under autocast if the run has it. */
ms_outputs ms_forward(ms_model *model, ms_tensor ids);

#endif
