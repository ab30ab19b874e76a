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
void ms_state_hold(ms_model *model, uint64_t layer, ms_tensor state);

/* A depthwise convolution along the sequence. */
typedef struct ms_convolution_module {
    uint32_t scope;
    ms_tensor weight, bias; /* bias 0: none */
} ms_convolution_module;

/* The convolution of *x, [B, C, S], a local of `f`, and its activation: of a whole sequence, whose
 * last inputs the cache keeps, or of one token after others. */
void ms_state_convolve(ms_model *model, uint64_t layer, const ms_convolution_module *module,
                       ms_activation activation, ms_locals *f, ms_tensor *x);

/* update_recurrent_state() of a prompt: takes the caller's reference to its last state, which lives
 * as long as the locals of `f`. 0, as without a cache: nothing. */
void ms_state_keep(ms_model *model, uint64_t layer, ms_locals *f, ms_tensor state);

/* ---- short convolution ---- */

/* Causal depthwise convolutions along the sequence. */

ms_convolution_module ms_convolution_new(ms_model *model, uint32_t parent, const char *name,
                                         ms_dim channels, ms_dim width, bool bias);
/* causal_conv1d_fn over [B, C, S] of any S, followed by the activation; MS_ACTIVATION_COUNT: by
 * none. */
ms_tensor ms_convolution_call(ms_model *model, const ms_convolution_module *module,
                              ms_activation activation, ms_tensor x);

#endif
