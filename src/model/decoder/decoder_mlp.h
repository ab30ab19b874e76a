/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Gated MLPs of decoders.
 */
#ifndef MS_MODEL_DECODER_DECODER_MLP_H
#define MS_MODEL_DECODER_DECODER_MLP_H

#include "model/decoder/decoder.h"

/* down(act(gate(x)) * up(x)) */
void *ms_gated_mlp_new(ms_model *model, const ms_decoder *d, uint32_t scope, uint32_t number);
ms_tensor ms_gated_mlp(ms_model *model, const ms_decoder_layer *layer, ms_tensor hidden);
/* The same with another name and width. */
void *ms_gated_mlp_named(ms_model *model, uint32_t parent, const char *name, ms_dim middle,
                         bool bias);
ms_tensor ms_gated_mlp_call(ms_model *model, const void *mlp, ms_tensor hidden);

#endif
