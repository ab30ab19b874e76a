/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Gemma 4's norm and attention.
 */
#ifndef MS_MODEL_DENSE_GEMMA4_ATTENTION_H
#define MS_MODEL_DENSE_GEMMA4_ATTENTION_H

#include "model/dense/gemma4/gemma4.h"
#include "model/dense/gemma4/sharing.h"

/* x * (mean(x ** 2) + eps) ** -0.5, in fp32, times the weight in fp32, in the type of x. */
ms_tensor ms_gemma4_norm(ms_model *model, const ms_norm_module *module, ms_tensor x);
/* The same without a weight. */
ms_tensor ms_gemma4_unit_norm(ms_model *model, ms_tensor x);

/* Attention: a style's build_attention and attention. */
void *ms_gemma4_attention_new(ms_model *model, const ms_decoder *d, uint32_t parent,
                              uint32_t number);
ms_tensor ms_gemma4_attention(ms_model *model, ms_decoder *d, const ms_decoder_layer *layer,
                              ms_tensor hidden, ms_tensor *weights);

#endif
