/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Attention with norms over the whole query and key, after their projections.
 */
#ifndef MS_MODEL_DECODER_WHOLE_NORMS_H
#define MS_MODEL_DECODER_WHOLE_NORMS_H

#include "model/decoder/decoder.h"

/* As ms_self_attention, with norms over the whole query and key. */
void *ms_whole_norm_attention_new(ms_model *model, const ms_decoder *d, uint32_t scope,
                                  uint32_t number);
ms_tensor ms_whole_norm_attention(ms_model *model, ms_decoder *d, const ms_decoder_layer *layer,
                                  ms_tensor hidden, ms_tensor *weights);

#endif
