/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Internal to Falcon: its modules, shared by its two files.
 */
#ifndef MS_MODEL_DENSE_FALCON_H
#define MS_MODEL_DENSE_FALCON_H

#include "model/blocks/blocks.h"

typedef struct ms_falcon_layer {
    uint32_t scope, attention_scope, mlp_scope;
    ms_linear_module query_key_value, dense, up, down;
    ms_norm_module attention_norm, mlp_norm;
} ms_falcon_layer;

typedef struct ms_falcon {
    uint32_t scope, embedding_scope, rotary_scope;
    ms_tensor embedding;
    ms_falcon_layer *layers;
    ms_norm_module norm;
    ms_tensor inv_freq[2];
    ms_linear_module head;
    /* Of the running micro-batch; recomputed layers read them here. */
    ms_tensor cos, sin, mask, alibi, position_ids;
    ms_tensor weights; /* the last layer's probabilities, kept in its tuple of results */
} ms_falcon;

#endif
