/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Whisper's modules, and its layers.
 */
#ifndef MS_MODEL_TRANSLATION_WHISPER_LAYERS_H
#define MS_MODEL_TRANSLATION_WHISPER_LAYERS_H

#include "model/encoder/encoder.h"

typedef struct ms_whisper_attention {
    uint32_t scope;
    ms_linear_module k, v, q, out;
    ms_norm_module norm; /* before it, of the layer */
} ms_whisper_attention;

typedef struct ms_whisper_layer {
    uint32_t scope;
    ms_whisper_attention self, cross; /* cross: of the decoder's layers */
    ms_linear_module fc1, fc2;
    ms_norm_module final_norm;
} ms_whisper_layer;

typedef struct ms_whisper_convolution {
    uint32_t scope;
    ms_tensor weight, bias;
} ms_whisper_convolution;

typedef struct ms_whisper {
    uint32_t encoder_scope, decoder_scope;
    uint32_t encoder_layers, decoder_layers; /* the decoder's numbers follow the encoder's */
    ms_dim frames;
    ms_whisper_convolution conv1, conv2;
    ms_learned_table places; /* of the encoder's positions, sines that are not trained */
    ms_learned_table words, positions;
    ms_whisper_layer *layers;
    ms_norm_module encoder_norm, decoder_norm;
    ms_tensor mask, encoded; /* of the running pass; owned by it */
    ms_linear_module head;
} ms_whisper;

/* Runs `count` layers from the number `first` on *hidden, a local of `f`. */
void ms_whisper_run_layers(ms_model *model, uint32_t first, uint32_t count, ms_locals *f,
                           ms_tensor *hidden);

#endif
