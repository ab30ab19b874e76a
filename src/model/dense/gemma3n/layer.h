/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Gemma 3n's layers.
 */
#ifndef MS_MODEL_DENSE_GEMMA3N_LAYER_H
#define MS_MODEL_DENSE_GEMMA3N_LAYER_H

#include "model/dense/gemma3n/gemma3n.h"

/* What follows the norms of a layer that is built. */
bool ms_gemma3n_layer_new(ms_model *model, ms_decoder *d, ms_decoder_layer *layer);
/* A style's run_layer, of all streams: [N, B, S, H]. */
ms_tensor ms_gemma3n_layer_run(ms_tape *tape, void *context, uint64_t number, ms_tensor streams);

#endif
