/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * DeepSeek-V3.2's indexer: for each token it scores all earlier ones with small heads of its own,
 * and attention sees those with the best scores. It runs without gradients: no loss trains it.
 */
#ifndef MS_MODEL_MIXTURE_INDEXER_H
#define MS_MODEL_MIXTURE_INDEXER_H

#include "model/blocks/blocks.h"

typedef struct ms_indexer ms_indexer;

/* The indexer below a module "indexer", in the arena; NULL when out of memory. */
ms_indexer *ms_indexer_new(ms_model *model, uint32_t parent);

/* Locals of the caller: the hidden states [B, S, H], the latent of the queries [B, S, R], the
 * causal mask, bool or additive, [B, 1, S, S], and the rotary tables. */
typedef struct ms_index_inputs {
    ms_tensor hidden, latent, mask, cos, sin;
} ms_index_inputs;

/* Makes *mask, a local of `f`, that mask without the tokens that are not chosen, [B, 1, S, S]. What
 * chose them becomes locals of `f`. */
void ms_indexer_mask(ms_model *model, const ms_indexer *indexer, const ms_index_inputs *in,
                     ms_locals *f, ms_tensor *mask);

#endif
