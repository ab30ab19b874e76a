/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What a recurrent layer leaves in the cache, as transformers' LinearAttentionLayer has it: the
 * last inputs of its convolution, [B, C, width], where other layers have keys, and its state where
 * they have values. Both are made by the first pass and written in place by later ones.
 */
#ifndef MS_MODEL_RECURRENT_STATE_CACHE_H
#define MS_MODEL_RECURRENT_STATE_CACHE_H

#include "model/blocks/model.h"

/* Whether the running pass is one token after others. */
bool ms_state_is_continued(const ms_model *model, uint64_t layer);

/* update_conv_state(): what the convolution gets for x, [B, C, S]; without a cache, and of a token
 * after others, x itself. A prompt that is shorter than the convolution is padded to its width, and
 * its last inputs are kept. */
ms_tensor ms_state_inputs(ms_model *model, uint64_t layer, ms_tensor x);
/* update_recurrent_state() of a prompt, whose last state the caller owns; 0, and without a cache:
 * nothing. */
void ms_state_keep(ms_model *model, uint64_t layer, ms_tensor state);

#endif
