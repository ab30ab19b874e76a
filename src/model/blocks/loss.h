/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The head and the framework's losses.
 */
#ifndef MS_MODEL_BLOCKS_LOSS_H
#define MS_MODEL_BLOCKS_LOSS_H

#include "autograd/engine.h"
#include "model/blocks/model.h"

/* The head and the causal language model loss, in one or in pieces of the tokens: binds the logits,
 * if there are any, and the loss in the caller's frame. */
ms_tensor *ms_head_loss(ms_model *model, ms_frame *f, const ms_linear_module *head,
                        ms_tensor hidden, ms_tensor labels);
/* The tokens of a sequence that have logits. */
ms_dim ms_kept_tokens(ms_model *model);
/* The loss of a classifier's logits, [B, C], which stay the caller's. */
ms_tensor ms_class_loss(ms_model *model, ms_tensor pooled);

#endif
