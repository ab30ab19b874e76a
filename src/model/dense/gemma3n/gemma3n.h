/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Gemma 3n's text model: hidden states in several streams, of which a layer predicts all, runs one
 * and corrects the others (AltUp); a low-rank branch beside attention (Laurel); an embedding of the
 * tokens for each layer; MLPs whose gates keep the largest values alone; and last layers that read
 * the keys and values of earlier ones.
 */
#ifndef MS_MODEL_DENSE_GEMMA3N_GEMMA3N_H
#define MS_MODEL_DENSE_GEMMA3N_GEMMA3N_H

#include "model/decoder/decoder.h"

enum { MS_GEMMA3N_MOST_STREAMS = 6 };

/* What predicts and corrects the streams of a layer. */
typedef struct ms_gemma3n_altup {
    uint32_t scope;
    ms_tensor scale; /* [H]: of the corrected stream that the layer's own embedding reads */
    ms_linear_module correction, prediction, router;
    ms_norm_module router_norm;
    ms_tensor router_scale; /* a scalar buffer */
} ms_gemma3n_altup;

/* Of a layer, beside what every decoder's has. */
typedef struct ms_gemma3n_layer {
    ms_gemma3n_altup altup;
    uint32_t laurel_scope;
    ms_linear_module laurel_left, laurel_right;
    ms_norm_module laurel_norm;
    ms_linear_module input_gate, projection;
    ms_norm_module input_norm;
    ms_tensor input; /* [B, S, P], of the running micro-batch: its own embedding */
} ms_gemma3n_layer;

/* Of the model, beside what every decoder has. */
typedef struct ms_gemma3n {
    ms_dim streams; /* N */
    ms_dim width;   /* P: of a token's embedding for one layer */
    ms_dim joined;  /* L * P */
    ms_dim layers;  /* L */
    ms_dim rank;    /* of Laurel */
    uint32_t table_scope;
    ms_tensor table, table_scale; /* [rows, L * P]; a scalar buffer */
    ms_linear_module projection;  /* H to L * P */
    ms_norm_module projection_norm;
    ms_tensor projection_scale, input_scale; /* scalar buffers */
    /* H to H, of every stream but the first: into it, and out of it */
    ms_linear_module into[MS_GEMMA3N_MOST_STREAMS], from[MS_GEMMA3N_MOST_STREAMS];
    ms_gemma3n_layer *of_layers;
} ms_gemma3n;

static inline ms_gemma3n *ms_gemma3n_of(const ms_model *model)
{
    return ((ms_decoder *)model->modules)->own;
}

#endif
