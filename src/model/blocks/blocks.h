/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What families share: modules and the functions of the framework's modelling files. Every function
 * keeps its locals as the Python function of the same purpose does.
 */
#ifndef MS_MODEL_BLOCKS_BLOCKS_H
#define MS_MODEL_BLOCKS_BLOCKS_H

#include "config/run/liger.h"
#include "model/blocks/linear.h"
#include "model/blocks/model.h"
#include "autograd/rerun.h"
#include "model/blocks/parameter.h"

typedef struct ms_norm_module {
    uint32_t scope;
    ms_tensor weight, bias;
    ms_liger_norm place; /* for Liger, which replaces some and not others */
} ms_norm_module;

/* Along the sequence, each channel by itself (short_convolution.c). */
typedef struct ms_convolution_module {
    uint32_t scope;
    ms_tensor weight, bias; /* bias 0: none */
} ms_convolution_module;

/* ---- construction ---- */

/* Whether the model moves to the device when it is whole: temporaries were the host's. */
bool ms_is_made_on_host(const ms_model *model);
ms_linear_module ms_linear_new(ms_model *model, uint32_t parent, const char *name, ms_dim in,
                               ms_dim out, bool bias);
ms_linear_module ms_conv1d_new(ms_model *model, uint32_t parent, const char *name, ms_dim in,
                               ms_dim out);
ms_norm_module ms_norm_new(ms_model *model, uint32_t parent, const char *name, ms_dim width,
                           bool bias);
/* The same with weights of another shape than [width]. */
ms_norm_module ms_shaped_norm_new(ms_model *model, uint32_t parent, const char *name,
                                  ms_shape shape, bool bias);
ms_convolution_module ms_convolution_new(ms_model *model, uint32_t parent, const char *name,
                                         ms_dim channels, ms_dim width, bool bias);
ms_tensor ms_embedding_new(ms_model *model, uint32_t parent, const char *name, ms_dim rows,
                           ms_dim width);
/* The output head, as wide as `embedding`: its own weight, or made and dropped at once when tied.
 */
ms_linear_module ms_head_new(ms_model *model, ms_tensor embedding);
/* 1 / theta ** (arange(0, R, 2) / R): yields the result, floating. */
ms_tensor ms_inverse_frequencies(ms_model *model);
/* A buffer of a module: on the device, not trained. */
ms_tensor ms_buffer_new(ms_model *model, ms_shape shape, ms_dtype dtype, const char *name);
/* For each table of a rotary embedding inverse frequencies and their copy, buffers all, by table.
 */
void ms_rotary_new(ms_model *model, uint32_t parent, uint32_t tables, ms_tensor *inv_freq,
                   ms_tensor *originals);

/* ---- calls ---- */

/* The embedding of the input, times `scale` (0: none). Where an adapter is trained with checkpoints
 * its result wants a gradient, as enable_input_require_grads() makes it. */
ms_tensor ms_input_embedding(ms_model *model, uint32_t scope, ms_tensor weight, ms_tensor scale,
                             ms_tensor ids);
/* causal_conv1d_fn over [B, C, S]: what a token and those before it give, through the activation if
 * `activates`. */
ms_tensor ms_convolution_call(ms_model *model, const ms_convolution_module *module, bool activates,
                              ms_tensor x);
ms_tensor ms_rms_norm_call(ms_model *model, const ms_norm_module *module, ms_tensor x);
/* The same with the weight applied in fp32, before the result is cast. */
ms_tensor ms_fp32_rms_norm_call(ms_model *model, const ms_norm_module *module, ms_tensor x);
/* The same with 1 + weight, all of it in fp32. */
ms_tensor ms_centered_rms_norm_call(ms_model *model, const ms_norm_module *module, ms_tensor x);
ms_tensor ms_layer_norm_call(ms_model *model, const ms_norm_module *module, ms_tensor x);
/* A layer with the treatment that the run has for its number. */
ms_tensor ms_layer_call(ms_model *model, const ms_region *region, ms_tensor hidden);
/* Its MLP, in one or in pieces of the tokens. */
ms_tensor ms_mlp_call(ms_model *model, const ms_region *region, ms_tensor hidden);
/* The head, and with labels its loss, in one or in pieces of the tokens: binds the logits, if there
 * are any, and the loss (0 without labels) in the caller's frame; hands out what `in` keeps. */
ms_tensor *ms_head_call(ms_model *model, ms_frame *f, const ms_linear_module *head,
                        ms_tensor hidden, const ms_model_inputs *in, ms_model_outputs *out);
/* Ends the frame of a forward pass with the loss, which is handed out. */
void ms_forward_end(ms_frame *f, const ms_tensor *loss, ms_model_outputs *out);
/* Hands out a tensor: it gets a reference of the caller's. */
ms_tensor ms_hand_out(ms_tape *tape, ms_tensor tensor);
/* Trainer's LabelSmoother over what forward yielded. */
ms_tensor ms_smoothed_loss(ms_model *model, ms_tensor logits, ms_tensor labels);
/* The tokens of a sequence that have logits. */
ms_dim ms_kept_tokens(ms_model *model);
/* The loss of a classifier's logits, [B, C], which stay the caller's. */
ms_tensor ms_class_loss(ms_model *model, ms_tensor pooled);
ms_tensor ms_activation_call(ms_model *model, ms_tensor x);
/* c * tanh(x / c), a statement for each operator. */
void ms_soft_cap(ms_model *model, ms_frame *f, ms_tensor *x);

/* arange(S) + 0, as [1, S] */
ms_tensor ms_position_ids(ms_model *model);
/* The look for packed sequences (position_ids 0: none), and the mask: additive for eager attention,
 * bool where a sliding window is shorter than the sequence, else 0. */
ms_tensor ms_causal_mask(ms_model *model, ms_tensor position_ids, bool sliding);
/* Chooses among the original inverse frequencies and those of long sequences, which the first call
 * makes, by the last position. */
void ms_rotary_choose(ms_model *model, uint32_t scope, ms_tensor original,
                      ms_tensor *long_inv_freq);
/* The causal mask for families that always use one: additive for eager attention, else bool. */
ms_tensor ms_full_mask(ms_model *model);
/* Within a rotary embedding's module, without gradients: the angle of each position at each of the
 * frequencies, in fp32. */
typedef struct ms_rotary_module {
    ms_frame frame;
    ms_tensor *angles; /* a local of the frame */
    uint32_t outer_scope;
    bool outer_grad;
} ms_rotary_module;
void ms_rotary_enter(ms_model *model, uint32_t scope, ms_tensor inv_freq, ms_tensor position_ids,
                     ms_rotary_module *rotary);
/* Once the frame has ended. */
void ms_rotary_leave(ms_model *model, const ms_rotary_module *rotary);
/* cos and sin of the positions, in the dtype of the hidden states: out[0], out[1]. */
void ms_rotary_call(ms_model *model, uint32_t scope, ms_tensor inv_freq, ms_tensor position_ids,
                    ms_dtype dtype, ms_tensor out[2]);
/* The same of positions in three grids: time, height and width, which text has alike. */
void ms_rotary_of_grids(ms_model *model, uint32_t scope, ms_tensor inv_freq, ms_tensor position_ids,
                        ms_dtype dtype, ms_tensor out[2]);
/* apply_rotary_pos_emb of query and key, the caller's locals: out[0], out[1]. */
typedef void (*ms_rotary_fn)(ms_model *model, ms_tensor q, ms_tensor k, ms_tensor cos,
                             ms_tensor sin, ms_tensor out[2]);
/* Whole heads, by halves. */
void ms_rotary_whole(ms_model *model, ms_tensor q, ms_tensor k, ms_tensor cos, ms_tensor sin,
                     ms_tensor out[2]);
/* The same in fp32, and back to the dtypes of query and key. */
void ms_rotary_whole_cast(ms_model *model, ms_tensor q, ms_tensor k, ms_tensor cos, ms_tensor sin,
                          ms_tensor out[2]);
/* Whole heads, by neighbours, in fp32. */
void ms_rotary_pairs_fp32(ms_model *model, ms_tensor q, ms_tensor k, ms_tensor cos, ms_tensor sin,
                          ms_tensor out[2]);
/* The same of tables that are repeated for each call, casts after the heads are rotated. */
void ms_rotary_repeated_pairs_fp32(ms_model *model, ms_tensor q, ms_tensor k, ms_tensor cos,
                                   ms_tensor sin, ms_tensor out[2]);
/* The first part of each head, by halves, as a caller writes it whose locals the parts become. */
void ms_rotary_around(ms_model *model, ms_frame *f, ms_tensor *query, ms_tensor *key, ms_tensor cos,
                      ms_tensor sin);
/* The first part of each head, by halves; the rest is joined when both are rotated, or at once. */
void ms_rotary_part(ms_model *model, ms_tensor q, ms_tensor k, ms_tensor cos, ms_tensor sin,
                    ms_tensor out[2]);
void ms_rotary_part_at_once(ms_model *model, ms_tensor q, ms_tensor k, ms_tensor cos, ms_tensor sin,
                            ms_tensor out[2]);
/* The first part of each head, by neighbours. */
void ms_rotary_pairs(ms_model *model, ms_tensor q, ms_tensor k, ms_tensor cos, ms_tensor sin,
                     ms_tensor out[2]);
/* Ends a function that returns two tensors, its locals. */
void ms_return_both(ms_frame *f, ms_tensor first, ms_tensor second, ms_tensor out[2]);
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
ms_tensor *ms_attend_merged(ms_model *model, ms_frame *f, uint64_t number, const ms_tensor q_k_v[3],
                            ms_tensor mask, ms_tensor *weights);

#endif
