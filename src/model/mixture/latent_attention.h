/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Multi-head latent attention: keys and values are computed from a low-rank latent of each token,
 * and so are queries if query_rank is set; one part of the key is shared by all heads and has the
 * rotary embedding.
 */
#ifndef MS_MODEL_MIXTURE_LATENT_ATTENTION_H
#define MS_MODEL_MIXTURE_LATENT_ATTENTION_H

#include "model/mixture/deepseek.h"

void *ms_latent_attention_new(ms_model *model, const ms_decoder *d, uint32_t scope,
                              uint32_t number);
ms_tensor ms_latent_attention(ms_model *model, ms_decoder *d, const ms_decoder_layer *layer,
                              ms_tensor hidden, ms_tensor *weights);

#endif
