/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Gemma 3n's MLP, whose gate in some layers keeps the values alone that lie far above their mean.
 */
#ifndef MS_MODEL_DENSE_GEMMA3N_MLP_H
#define MS_MODEL_DENSE_GEMMA3N_MLP_H

#include "model/dense/gemma3n/gemma3n.h"

/* A style's build_mlp and mlp. */
void *ms_gemma3n_mlp_new(ms_model *model, const ms_decoder *d, uint32_t parent, uint32_t number);
ms_tensor ms_gemma3n_mlp(ms_model *model, const ms_decoder_layer *layer, ms_tensor hidden);

#endif
