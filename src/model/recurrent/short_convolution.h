/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Causal depthwise convolutions along the sequence.
 */
#ifndef MS_MODEL_RECURRENT_SHORT_CONVOLUTION_H
#define MS_MODEL_RECURRENT_SHORT_CONVOLUTION_H

#include "model/blocks/model.h"

/* A depthwise convolution along the sequence. */
typedef struct ms_convolution_module {
    uint32_t scope;
    ms_tensor weight, bias; /* bias 0: none */
} ms_convolution_module;

ms_convolution_module ms_convolution_new(ms_model *model, uint32_t parent, const char *name,
                                         ms_dim channels, ms_dim width, bool bias);
/* causal_conv1d_fn over [B, C, S] of any S, followed by the activation; MS_ACTIVATION_COUNT: by
 * none. */
ms_tensor ms_convolution_call(ms_model *model, const ms_convolution_module *module,
                              ms_activation activation, ms_tensor x);

#endif
