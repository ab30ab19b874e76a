/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What a recurrent layer leaves in the cache, as transformers' LinearAttentionLayer has it: the
 * last inputs of its convolution, [B, C, width], where other layers have keys, and its state where
 * they have values. Both are made by the first pass and written in place by later ones.
 */
#ifndef MS_MODEL_RECURRENT_STATE_CACHE_H
#define MS_MODEL_RECURRENT_STATE_CACHE_H

#include "model/recurrent/short_convolution.h"

/* Whether the running pass is one token after others. */
bool ms_state_is_continued(const ms_model *model, uint64_t layer);

/* update_conv_state() of a prompt: what the convolution gets for x, [B, C, S], which is padded to
 * its width where it is shorter. Without a cache x itself. */
ms_tensor ms_state_begin(ms_model *model, uint64_t layer, ms_dim width, ms_tensor x);

/* causal_conv1d_update() of one token: [B, C, 1] after the activation. */
ms_tensor ms_state_convolve(ms_model *model, uint64_t layer, const ms_convolution_module *m,
                            ms_tensor x);

/* update_recurrent_state() of a prompt; `state` is the caller's. */
void ms_state_keep(ms_model *model, uint64_t layer, ms_tensor state);

#endif
