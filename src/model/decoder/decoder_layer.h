/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Attention and layer of most decoders.
 */
#ifndef MS_MODEL_DECODER_DECODER_LAYER_H
#define MS_MODEL_DECODER_DECODER_LAYER_H

#include "model/decoder/decoder.h"

ms_projections ms_projections_new(ms_model *model, const ms_decoder *d, uint32_t parent);
/* Reshapes query, key and value, locals of `f`, from [B, S, H * D] to [B, H, S, D]. */
void ms_split_heads(ms_model *model, ms_locals *f, ms_tensor *query, ms_tensor *key,
                    ms_tensor *value);
/* Self-attention, with head norms if the style has them. */
void *ms_self_attention_new(ms_model *model, const ms_decoder *d, uint32_t scope, uint32_t number);
ms_tensor ms_self_attention(ms_model *model, ms_decoder *d, const ms_decoder_layer *layer,
                            ms_tensor hidden, ms_tensor *weights);
/* Rotates a layer's query and key, locals of `f`, by its rotary tables. */
void ms_apply_rotary(ms_model *model, ms_locals *f, const ms_decoder_layer *layer, ms_tensor *query,
                     ms_tensor *key);
/* Calls attention, reshapes its result and applies `output`. The arguments are locals of the
 * caller, whose frame it ends. */
ms_tensor ms_attend_and_project(ms_model *model, ms_locals *f, const ms_decoder_layer *layer,
                                const ms_tensor q_k_v[3], ms_tensor mask,
                                const ms_linear_module *output, ms_tensor *weights);
/* x += dropout(norm(attention(norm(x)))); x += dropout(norm(mlp(norm(x)))), with the norms of the
 * style */
ms_tensor ms_residual_layer(ms_tape *tape, void *context, uint64_t number, ms_tensor input);
/* For other layer programs: a norm, the attention (the probabilities are bound in `f`), and the MLP
 * under its treatment. All consume `hidden` as a call does. */
ms_tensor ms_norm_at(ms_model *model, const ms_decoder_layer *layer, ms_norm_place place,
                     ms_tensor hidden);
ms_tensor ms_layer_attention(ms_model *model, const ms_decoder_layer *layer, ms_locals *f,
                             ms_tensor hidden);
ms_tensor ms_layer_mlp(ms_model *model, const ms_decoder_layer *layer, ms_tensor hidden);

#endif
