/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Attention that normalises the whole query and key, behind their projections.
 */
#ifndef MS_MODEL_DECODER_WHOLE_NORMS_H
#define MS_MODEL_DECODER_WHOLE_NORMS_H

#include "model/decoder/decoder.h"

/* The same with norms over the whole query and key (whole_norms.c). */
void *ms_whole_norm_attention_new(ms_model *model, const ms_decoder *d, uint32_t scope,
                                  uint32_t number);
ms_tensor ms_whole_norm_attention(ms_model *model, ms_decoder *d, const ms_decoder_layer *layer,
                                  ms_tensor hidden, ms_tensor *weights);

#endif
