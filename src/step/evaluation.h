/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The loop of Trainer's evaluation: batches without gradients, of which the losses, or logits and
 * labels too, are joined on the device.
 */
#ifndef MS_STEP_EVALUATION_H
#define MS_STEP_EVALUATION_H

#include "step/forward.h"

/* What Trainer's evaluation holds and makes; ids: [eval_batch, S]. */
void ms_evaluate(ms_model *model, ms_tensor ids, bool keeps_logits);

#endif
