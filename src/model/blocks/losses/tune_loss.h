/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * torchtune's LinearCrossEntropyLoss (0.7): head and loss in eight pieces of the tokens, without
 * checkpoints, so that the log-probabilities of all tokens stay for backward.
 */
#ifndef MS_MODEL_BLOCKS_LOSSES_TUNE_LOSS_H
#define MS_MODEL_BLOCKS_LOSSES_TUNE_LOSS_H

#include "model/blocks/model.h"

/* Of hidden states [B, S, H], as if each token had a label: floating. */
ms_tensor ms_tune_loss(ms_model *model, const ms_linear_module *head, ms_tensor hidden);

#endif
