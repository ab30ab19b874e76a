/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The loss that Trainer computes with label smoothing.
 */
#ifndef MS_MODEL_BLOCKS_SMOOTHED_LOSS_H
#define MS_MODEL_BLOCKS_SMOOTHED_LOSS_H

#include "model/blocks/model.h"

/* Trainer's LabelSmoother over what forward yielded. */
ms_tensor ms_smoothed_loss(ms_model *model, ms_tensor logits, ms_tensor labels, uint64_t kept);

#endif
