/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Gemma 3n's modules around its layers, and the pass over all of them.
 */
#ifndef MS_MODEL_DENSE_GEMMA3N_RUN_H
#define MS_MODEL_DENSE_GEMMA3N_RUN_H

#include "model/dense/gemma3n/gemma3n.h"

/* A style's build_more: embeddings for each layer, and projections of the streams. */
bool ms_gemma3n_more_new(ms_model *model, ms_decoder *d);
/* A style's run: the model, of ids. */
ms_tensor ms_gemma3n_run(ms_model *model, ms_decoder *d, ms_tensor ids, ms_tensor given);

#endif
