/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The attention interface: masks, the fused call, and the eager function.
 */
#ifndef MS_MODEL_BLOCKS_ATTEND_H
#define MS_MODEL_BLOCKS_ATTEND_H

#include "autograd/engine.h"
#include "model/blocks/model.h"

/* The look for packed sequences (position_ids 0: none), and the mask: additive for eager attention,
 * bool where a sliding window is shorter than the sequence, else 0. */
ms_tensor ms_causal_mask(ms_model *model, ms_tensor position_ids, bool sliding);
/* The causal mask for families that always use one: additive for eager attention, else bool. */
ms_tensor ms_full_mask(ms_model *model);
/* A layer's attention over [B, H, S, D], in one or in pieces of the queries; yields [B, S, H, D].
 * weights[0]: the probabilities, if eager and in one. */
ms_tensor ms_attention_call(ms_model *model, uint64_t layer, ms_tensor q, ms_tensor k, ms_tensor v,
                            ms_tensor mask, ms_tensor *weights);
/* The same, eager and in one, of a softmax that also sees a sink for each head. */
ms_tensor ms_sink_attention(ms_model *model, ms_tensor q, ms_tensor k, ms_tensor v, ms_tensor mask,
                            ms_tensor sinks, ms_tensor *weights);
/* view and transpose: [B, S, heads * D] to [B, heads, S, D] */
ms_tensor ms_as_heads(ms_model *model, ms_tensor x, ms_dim heads);
/* The attention interface, and its result as [B, S, H]: a local of `f`. The probabilities are held
 * until the caller disowns them. */
ms_tensor *ms_attend_merged(ms_model *model, ms_locals *f, uint64_t number,
                            const ms_tensor q_k_v[3], ms_tensor mask, ms_tensor *weights);

#endif
