/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Shared by families: modules and functions of the framework's modelling files. Every function
 * binds its locals as the corresponding Python function does.
 */
#ifndef MS_MODEL_BLOCKS_BLOCKS_H
#define MS_MODEL_BLOCKS_BLOCKS_H

#include "input/config/run/liger.h"
#include "model/blocks/attention/attend.h"
#include "model/blocks/construct.h"
#include "model/blocks/linear.h"
#include "model/blocks/loss.h"
#include "model/blocks/model.h"
#include "torch/autograd/engine.h"
#include "model/blocks/parameter.h"
#include "model/blocks/rotary.h"
#include "model/blocks/losses/smoothed_loss.h"

/* The embedding of the input, times `scale` (0: none). With an adapter and checkpoints, its result
 * requires a gradient, as by enable_input_require_grads(). */
ms_tensor ms_input_embedding(ms_model *model, uint32_t scope, ms_tensor weight, ms_tensor scale,
                             ms_tensor ids);
/* Whether the inputs of adapted, checkpointed layers require gradients. */
bool ms_inputs_require_grad(const ms_model *model);
/* A norm of any kind. A layer's own norm runs under the layer's treatment: `run` gets the model,
 * and the module as a number. */
ms_tensor ms_norm_call(ms_model *model, const ms_norm_module *module, ms_tensor x,
                       ms_region_fn run);
const ms_norm_module *ms_norm_of(uint64_t number);
ms_tensor ms_rms_norm_call(ms_model *model, const ms_norm_module *module, ms_tensor x);
/* The same, with the weight applied in fp32, before the cast of the result. */
ms_tensor ms_fp32_rms_norm_call(ms_model *model, const ms_norm_module *module, ms_tensor x);
/* The same, with a copy of the weight in fp32 that the product keeps. */
ms_tensor ms_widened_rms_norm_call(ms_model *model, const ms_norm_module *module, ms_tensor x);
/* The same as norm(x) * weight: the weight comes second. */
ms_tensor ms_rms_norm_weight_last_call(ms_model *model, const ms_norm_module *module, ms_tensor x);
/* The same with 1 + weight, all of it in fp32. */
ms_tensor ms_centered_rms_norm_call(ms_model *model, const ms_norm_module *module, ms_tensor x);
/* x stays in its type beside the factor in fp32; the product is cast to a weight's type of two
 * bytes. */
ms_tensor ms_half_cast_rms_norm_call(ms_model *model, const ms_norm_module *module, ms_tensor x);
ms_tensor ms_layer_norm_call(ms_model *model, const ms_norm_module *module, ms_tensor x);
/* A layer norm without bias, operator by operator in fp32, in the type of x. */
ms_tensor ms_fp32_layer_norm_call(ms_model *model, const ms_norm_module *module, ms_tensor x);
/* Runs a layer under its treatment. */
ms_tensor ms_layer_call(ms_model *model, const ms_region *region, ms_tensor hidden);
/* Runs the MLP of a layer, tiled by tokens if so treated. */
ms_tensor ms_mlp_call(ms_model *model, const ms_region *region, ms_tensor hidden);
ms_tensor ms_activation_call(ms_model *model, ms_tensor x); /* the config's hidden_act */
ms_tensor ms_activate(ms_tape *tape, ms_activation activation, ms_tensor x);
/* c * tanh(x / c), with one statement per operator. */
void ms_soft_cap(ms_model *model, ms_locals *f, ms_tensor *x);

/* A family's layers may return the probabilities of their attention beside the hidden states. This
 * is for the end of such a layer: *kept is what it hands out, retained; 0 while it runs again for
 * backward, or where it stopped early. */
void ms_weights_hand_out(ms_tape *tape, ms_tensor weights, ms_tensor *kept);
/* Runs layer after layer on *hidden, a local of `f`; the tuple that a layer returned, its states
 * and *kept, is alive until the next one's takes its place. */
void ms_layers_with_weights(ms_model *model, ms_locals *f, ms_tensor *hidden, ms_tensor *kept,
                            ms_tensor (*call)(ms_model *model, uint32_t number, ms_tensor hidden));

#endif
