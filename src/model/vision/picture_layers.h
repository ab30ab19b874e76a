/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The layers of a vision tower that sees pictures of one size: attention of every patch to all of
 * its picture, and an MLP of two linear layers, each behind a norm with a bias (SiglipEncoder and
 * CLIPEncoder of transformers).
 */
#ifndef MS_MODEL_VISION_PICTURE_LAYERS_H
#define MS_MODEL_VISION_PICTURE_LAYERS_H

#include "model/blocks/blocks.h"
#include "model/blocks/images.h"

typedef struct ms_picture_layer {
    uint32_t scope, attention_scope, mlp_scope;
    ms_norm_module norm1, norm2;
    ms_linear_module q_proj, k_proj, v_proj, out_proj, fc1, fc2;
} ms_picture_layer;

typedef struct ms_picture_layers {
    ms_model *model;
    ms_picture_layer *list; /* of config->vision.num_layers, in the arena */
    ms_dim hidden, intermediate;
    bool norms_last;     /* built behind attention and MLP: CLIP */
    bool projects_first; /* queries, keys and values, before they are viewed as heads: CLIP */
} ms_picture_layers;

/* Creates the parameters of the layers below a module "encoder", from config->vision, as the two
 * bools say; false when out of memory. */
bool ms_picture_layers_new(ms_model *model, ms_picture_layers *layers, uint32_t parent);

/* Runs layers `first` to `end` - 1 on [pictures, tokens, Hv]: the same, floating. */
ms_tensor ms_picture_layers_run(ms_picture_layers *layers, uint64_t first, uint64_t end,
                                ms_tensor hidden);

/* Patches along a side of a picture. */
uint64_t ms_picture_side(const ms_vision_config *vision);

/* The projection of the patches, with its weight and, unless 0, its bias, in a scope of its own:
 * [pictures, channels, height, width] as [pictures, Hv, rows, columns]; floating. */
ms_tensor ms_picture_project(ms_model *model, uint32_t scope, ms_tensor weight, ms_tensor bias,
                             ms_tensor pixels);

/* [pictures, Hv, rows, columns] as [pictures, patches, Hv]; floating. */
ms_tensor ms_picture_tokens(ms_tape *tape, ms_tensor patches);

#endif
