/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The head and the framework's losses.
 */
#ifndef MS_MODEL_BLOCKS_LOSS_H
#define MS_MODEL_BLOCKS_LOSS_H

#include "torch/autograd/engine.h"
#include "model/blocks/model.h"

/* Runs the head and, with labels, the loss, chunked by tokens if the run says so. Binds the logits,
 * if any, and the loss (0 without labels) in the caller's frame; fills the outputs that `in` asks
 * for. Returns the loss. */
ms_tensor *ms_head_call(ms_model *model, ms_locals *f, const ms_linear_module *head,
                        ms_tensor hidden, const ms_model_inputs *in, ms_model_outputs *out);
/* The framework's loss of logits [B, kept tokens, V], which stay owned by the caller. */
ms_tensor ms_causal_lm_loss(ms_model *model, ms_tensor logits, const ms_model_inputs *in);
/* Ends the frame of a forward pass; the loss becomes an output. */
void ms_forward_end(ms_locals *f, const ms_tensor *loss, ms_model_outputs *out);
/* Adds a reference for the caller and returns the tensor. */
ms_tensor ms_hand_out(ms_tape *tape, ms_tensor tensor);
/* The number of tokens of a sequence with logits, if so many of the last are kept (0: all). */
ms_dim ms_kept_tokens(ms_model *model, uint64_t kept);
/* The loss of a classifier's logits, [B, C] or [B, S, C], which stay owned by the caller. */
ms_tensor ms_class_loss(ms_model *model, ms_tensor pooled);

/* cross_entropy(scores.view(-1, V), labels.view(-1)) */
ms_tensor ms_words_loss(ms_model *model, ms_tensor scores, ms_tensor labels);
/* The same of scores.float(). */
ms_tensor ms_wide_words_loss(ms_model *model, ms_tensor scores, ms_tensor labels);

#endif
