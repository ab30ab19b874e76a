/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Trainer's loss with label smoothing.
 */
#ifndef MS_MODEL_BLOCKS_LOSSES_SMOOTHED_LOSS_H
#define MS_MODEL_BLOCKS_LOSSES_SMOOTHED_LOSS_H

#include "model/blocks/model.h"

/* Trainer's LabelSmoother over the outputs of forward, with so many kept logits (0: all). */
ms_tensor ms_smoothed_loss(ms_model *model, ms_tensor logits, ms_tensor labels, uint64_t kept);

#endif
