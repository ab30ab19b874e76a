/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * transformers' attention interface: the fused call, and the eager function.
 */
#ifndef MS_MODEL_BLOCKS_ATTENTION_ATTEND_H
#define MS_MODEL_BLOCKS_ATTENTION_ATTEND_H

#include "torch/autograd/engine.h"
#include "model/blocks/model.h"

/* A layer's attention over [B, H, S, D], tiled by queries if the layer is so treated; returns [B,
 * S, H, D]. weights[0]: the probabilities, if eager and not tiled. */
ms_tensor ms_attention_call(ms_model *model, uint64_t layer, ms_tensor q, ms_tensor k, ms_tensor v,
                            ms_tensor mask, ms_tensor *weights);
/* The same, eager and not tiled, with a sink per head in the softmax. */
ms_tensor ms_sink_attention(ms_model *model, ms_tensor q, ms_tensor k, ms_tensor v, ms_tensor mask,
                            ms_tensor sinks, ms_tensor *weights);
/* view and transpose: [B, S, heads * D] to [B, heads, S, D] */
ms_tensor ms_as_heads(ms_model *model, ms_tensor x, ms_dim heads);

#endif
