/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The loss of a model that cut cross entropy has patched (cut_cross_entropy/transformers/utils.py,
 * apply_lce of axolotl's fork).
 */
#ifndef MS_MODEL_BLOCKS_LOSSES_CUT_LOSS_H
#define MS_MODEL_BLOCKS_LOSSES_CUT_LOSS_H

#include "model/blocks/model.h"

/* Of hidden states [B, S, H] and labels [B, S], as if each token had one: floating. */
ms_tensor ms_cut_loss(ms_model *model, const ms_linear_module *head, ms_tensor hidden,
                      ms_tensor labels);

#endif
