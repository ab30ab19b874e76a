/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The loss of a causal language model whose head is patched by cut_cross_entropy, as axolotl's
 * plugin does: see torch/ops/cut/cut_cross_entropy.h.
 */
#ifndef MS_MODEL_BLOCKS_LOSSES_CUT_LOSS_H
#define MS_MODEL_BLOCKS_LOSSES_CUT_LOSS_H

#include "model/blocks/model.h"

/* A scalar in fp32 of hidden states [B, S, H] and labels int64 [B, S]. */
ms_tensor ms_cut_loss(ms_model *model, const ms_linear_module *head, ms_tensor hidden,
                      ms_tensor labels);

#endif
