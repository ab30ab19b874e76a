/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * transformers' attention masks: what a pass makes of its tokens, and of the batch's own mask.
 */
#ifndef MS_MODEL_BLOCKS_ATTENTION_MASKS_H
#define MS_MODEL_BLOCKS_ATTENTION_MASKS_H

#include "torch/autograd/engine.h"
#include "model/blocks/model.h"

/* Runs the check for packed sequences (position_ids 0: none), where the batch has no mask of its
 * own, and makes the mask: additive for eager attention, bool if a sliding window is shorter than
 * the sequence or tokens are padding, else 0. */
ms_tensor ms_causal_mask(ms_model *model, ms_tensor position_ids, bool sliding);
/* find_packed_sequence_indices: its answer is "one sequence per row"; its tensors come and go. */
void ms_look_for_packed_sequences(ms_model *model, ms_tensor position_ids);
/* The causal mask for families that always use one: additive for eager attention, else bool. */
ms_tensor ms_full_mask(ms_model *model);
/* The mask of attention both ways, of `keys` tokens that the batch's mask is of; 0: no token is
 * padding. */
ms_tensor ms_padding_mask(ms_model *model, ms_dim queries, ms_dim keys);
/* The same of layers that see `sliding_window` tokens both ways: 0 also where no layer slides. */
ms_tensor ms_window_mask(ms_model *model);

#endif
