/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The parts that most decoders share: attention, and the layer over it and an MLP.
 */
#ifndef MS_MODEL_DECODER_DECODER_LAYER_H
#define MS_MODEL_DECODER_DECODER_LAYER_H

#include "model/decoder/decoder.h"

ms_projections ms_projections_new(ms_model *model, const ms_decoder *d, uint32_t parent);
/* [B, S, H * D] each to [B, H, S, D]: locals that hold query, key and value. */
void ms_split_heads(ms_model *model, ms_locals *f, ms_tensor *query, ms_tensor *key,
                    ms_tensor *value);
/* Attention over them, with norms over heads if the style has them. */
void *ms_self_attention_new(ms_model *model, const ms_decoder *d, uint32_t scope, uint32_t number);
ms_tensor ms_self_attention(ms_model *model, ms_decoder *d, const ms_decoder_layer *layer,
                            ms_tensor hidden, ms_tensor *weights);
/* Turns a layer's query and key, locals of `f`, by its rotary tables as the style does. */
void ms_apply_rotary(ms_model *model, ms_locals *f, const ms_decoder_layer *layer, ms_tensor *query,
                     ms_tensor *key);
/* The same, where attention itself takes query and key apart: ms_rotary_around. */
void ms_apply_rotary_around(ms_model *model, ms_locals *f, const ms_decoder_layer *layer,
                            ms_tensor *query, ms_tensor *key);
/* The attention interface, and what follows it: reshaped, and through `output`. Its arguments are
 * the caller's locals; ends the caller's frame. */
ms_tensor ms_attend_and_project(ms_model *model, ms_locals *f, const ms_decoder_layer *layer,
                                const ms_tensor q_k_v[3], ms_tensor mask,
                                const ms_linear_module *output, ms_tensor *weights);
/* The residual dropout where it ends attention and MLP. */
ms_tensor ms_inner_dropout(ms_model *model, ms_tensor x);
/* x += dropout(norm(attention(norm(x)))); x += dropout(norm(mlp(norm(x)))), with the norms that the
 * style has */
ms_tensor ms_residual_layer(ms_tape *tape, void *context, uint64_t number, ms_tensor input);
/* For other programs of a layer: one of its norms, its attention (the probabilities are bound in
 * `f`), and its MLP as the run treats it. All consume `hidden` as a call does. */
ms_tensor ms_norm_at(ms_model *model, const ms_decoder_layer *layer, ms_norm_place place,
                     ms_tensor hidden);
ms_tensor ms_layer_attention(ms_model *model, const ms_decoder_layer *layer, ms_locals *f,
                             ms_tensor hidden);
ms_tensor ms_layer_mlp(ms_model *model, const ms_decoder_layer *layer, ms_tensor hidden);

#endif
