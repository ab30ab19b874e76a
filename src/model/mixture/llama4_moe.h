/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Llama 4's experts: every expert runs on every token, scaled by its score, which is 0 for those
 * that the router did not select, plus a shared expert.
 */
#ifndef MS_MODEL_MIXTURE_LLAMA4_MOE_H
#define MS_MODEL_MIXTURE_LLAMA4_MOE_H

#include "model/decoder/decoder.h"

/* A module "feed_forward": experts in sparse layers, else a gated MLP. */
void *ms_llama4_mlp_new(ms_model *model, const ms_decoder *d, uint32_t parent, uint32_t number);
/* [B, S, H] to [B * S, H] with experts, else to [B, S, H]. The router's logits become the decoder's
 * second result. */
ms_tensor ms_llama4_mlp(ms_model *model, const ms_decoder_layer *layer, ms_tensor hidden);

#endif
