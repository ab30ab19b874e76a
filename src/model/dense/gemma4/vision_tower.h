/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Gemma 4's tower for pictures (Gemma4VisionModel of transformers): patches of pictures of any
 * size, padded to one number; layers like the text model's, whose heads are turned by rows and by
 * columns; and the mean of each square of patches.
 */
#ifndef MS_MODEL_DENSE_GEMMA4_VISION_TOWER_H
#define MS_MODEL_DENSE_GEMMA4_VISION_TOWER_H

#include "model/dense/gemma4/bounded.h"

typedef struct ms_gemma4_vision_layer {
    uint32_t scope, attention_scope, mlp_scope;
    ms_bounded_linear q_proj, k_proj, v_proj, o_proj, gate_proj, up_proj, down_proj;
    ms_norm_module q_norm, k_norm;
    ms_norm_module before_attention, after_attention, before_mlp, after_mlp;
} ms_gemma4_vision_layer;

typedef struct ms_gemma4_tower {
    uint32_t scope, patches_scope, encoder_scope, rotary_scope, pooler_scope;
    ms_linear_module projection; /* of patches */
    ms_tensor positions;         /* [2, rows, Hv]: of columns and of rows */
    ms_tensor inv_freq;
    ms_gemma4_vision_layer *layers;
    ms_tensor std_bias, std_scale; /* buffers [Hv]; 0: none */
    ms_dim hidden, intermediate, head_dim;
    /* Of the running pass: which patches see which, and the tables of the heads. */
    ms_tensor mask, cos, sin;
} ms_gemma4_tower;

/* Creates its parameters below `parent`, from config->vision, and sets model->tower. False when out
 * of memory. */
bool ms_gemma4_vision_new(ms_model *model, uint32_t parent);

#endif
