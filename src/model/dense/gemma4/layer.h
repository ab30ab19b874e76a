/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Gemma 4's layers, the embeddings that they add, and the pass over them.
 */
#ifndef MS_MODEL_DENSE_GEMMA4_LAYER_H
#define MS_MODEL_DENSE_GEMMA4_LAYER_H

#include "model/dense/gemma4/gemma4.h"

/* What follows the norms of a layer that is built. */
bool ms_gemma4_layer_new(ms_model *model, ms_decoder *d, ms_decoder_layer *layer);
/* A style's run_layer. */
ms_tensor ms_gemma4_layer_run(ms_tape *tape, void *context, uint64_t number, ms_tensor input);

/* Tables and projections of the embeddings for each layer, behind the decoder's other modules. */
bool ms_gemma4_inputs_new(ms_model *model, ms_decoder *d);
/* The tokens' embeddings for each layer, [B, S, L, P], floating. */
ms_tensor ms_gemma4_layer_inputs(ms_model *model, ms_tensor ids);
/* The layers, of embeddings, and of the tokens' for each layer (0: none), with the position ids and
 * masks that `d` has: all of them are the caller's. */
ms_tensor ms_gemma4_run_text(ms_model *model, ms_decoder *d, ms_tensor embeds, ms_tensor from_ids);

#endif
