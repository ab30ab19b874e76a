/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What families share: modules and the functions of the framework's modelling files. Every function
 * keeps its locals as the Python function of the same purpose does.
 */
#ifndef MS_MODEL_BLOCKS_BLOCKS_H
#define MS_MODEL_BLOCKS_BLOCKS_H

#include "config/run/liger.h"
#include "model/blocks/attend.h"
#include "model/blocks/construct.h"
#include "model/blocks/linear.h"
#include "model/blocks/loss.h"
#include "model/blocks/model.h"
#include "autograd/rerun.h"
#include "model/blocks/parameter.h"
#include "model/blocks/rotary.h"
#include "model/blocks/smoothed_loss.h"

/* The embedding of the input, times `scale` (0: none). Where an adapter is trained with checkpoints
 * its result wants a gradient, as enable_input_require_grads() makes it. */
ms_tensor ms_input_embedding(ms_model *model, uint32_t scope, ms_tensor weight, ms_tensor scale,
                             ms_tensor ids);
/* A norm of any kind. One that is a layer's own runs as the layer's treatment wants it: `run` gets
 * the model, and the module as a number. */
ms_tensor ms_norm_call(ms_model *model, const ms_norm_module *module, ms_tensor x,
                       ms_region_fn run);
const ms_norm_module *ms_norm_of(uint64_t number);
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
ms_tensor ms_activation_call(ms_model *model, ms_tensor x);
/* c * tanh(x / c), a statement for each operator. */
void ms_soft_cap(ms_model *model, ms_locals *f, ms_tensor *x);

#endif
