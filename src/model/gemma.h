/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the Gemma families share.
 */
#ifndef MS_MODEL_GEMMA_H
#define MS_MODEL_GEMMA_H

#include "model/decoder.h"

/* The first Gemma: a plain decoder with a scaled embedding and norms by 1 + weight. */
ms_decoder_style ms_gemma_style(const ms_model_config *config);

/* From the second on, attention and MLP are normalised before and after:
 * x += norm(attention(norm(x))); x += norm(mlp(norm(x))) */
bool ms_gemma2_layer_new(ms_model *model, const ms_decoder *d, ms_decoder_layer *layer);
ms_tensor ms_gemma2_layer(ms_tape *tape, void *context, uint64_t number, ms_tensor input);

#endif
