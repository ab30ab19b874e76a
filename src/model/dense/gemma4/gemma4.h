/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Gemma 4's text model. Layers that do not slide have wider heads, perhaps fewer key heads, and
 * perhaps keys that are the values too; the last layers may read the keys and values of earlier
 * ones; each layer may add an embedding of the tokens of its own.
 */
#ifndef MS_MODEL_DENSE_GEMMA4_GEMMA4_H
#define MS_MODEL_DENSE_GEMMA4_GEMMA4_H

#include "model/decoder/decoder.h"

struct ms_gemma4_experts; /* see experts.c */

/* Of a layer, beside what every decoder's has. */
typedef struct ms_gemma4_layer {
    ms_tensor scalar; /* a buffer of one element */
    ms_linear_module input_gate, projection;
    ms_norm_module input_norm;
    struct ms_gemma4_experts *experts; /* beside the MLP; NULL: none */
    ms_tensor input; /* [B, S, P], of the running micro-batch: its own embedding; 0: none */
} ms_gemma4_layer;

/* Of the model, beside what every decoder has. */
typedef struct ms_gemma4 {
    ms_dim width;  /* P: of a token's embedding for one layer; 0: there are none */
    ms_dim joined; /* L * P */
    ms_dim layers; /* L */
    uint32_t table_scope;
    ms_tensor table, table_scale; /* [rows, L * P]; a scalar buffer */
    ms_linear_module projection;  /* H to L * P */
    ms_norm_module projection_norm;
    ms_gemma4_layer *of_layers;
} ms_gemma4;

static inline ms_gemma4 *ms_gemma4_of(const ms_model *model)
{
    return ((ms_decoder *)model->modules)->own;
}

#endif
