/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The loss of TRL's SFTTrainer (1.16), which has its own head.
 */
#ifndef MS_MODEL_BLOCKS_LOSSES_TRL_LOSS_H
#define MS_MODEL_BLOCKS_LOSSES_TRL_LOSS_H

#include "model/blocks/model.h"

/* Of hidden states [B, S, H] and labels [B, S], as if each token had one: floating. */
ms_tensor ms_trl_loss(ms_model *model, const ms_linear_module *head, ms_tensor hidden,
                      ms_tensor labels);

#endif
