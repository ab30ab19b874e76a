/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The head and the framework's losses.
 */
#ifndef MS_MODEL_BLOCKS_LOSS_H
#define MS_MODEL_BLOCKS_LOSS_H

#include "autograd/engine.h"
#include "model/blocks/model.h"

/* The head, and with labels its loss, in one or in pieces of the tokens: binds the logits, if there
 * are any, and the loss (0 without labels) in the caller's frame; hands out what `in` keeps. */
ms_tensor *ms_head_call(ms_model *model, ms_locals *f, const ms_linear_module *head,
                        ms_tensor hidden, const ms_model_inputs *in, ms_model_outputs *out);
/* Ends the frame of a forward pass with the loss, which is handed out. */
void ms_forward_end(ms_locals *f, const ms_tensor *loss, ms_model_outputs *out);
/* Hands out a tensor: it gets a reference of the caller's. */
ms_tensor ms_hand_out(ms_tape *tape, ms_tensor tensor);
/* The tokens of a sequence that have logits, where so many of the last are kept (0: all). */
ms_dim ms_kept_tokens(ms_model *model, uint64_t kept);
/* The loss of a classifier's logits, [B, C], which stay the caller's. */
ms_tensor ms_class_loss(ms_model *model, ms_tensor pooled);

#endif
