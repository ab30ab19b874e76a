/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * T5: its modules, an encoder's and a decoder's stack of layers alike.
 */
#ifndef MS_MODEL_TRANSLATION_T5_LAYERS_H
#define MS_MODEL_TRANSLATION_T5_LAYERS_H

#include "model/blocks/blocks.h"

typedef struct ms_t5_attention {
    uint32_t scope, table_scope;
    ms_linear_module q, k, v, o;
    ms_tensor table; /* of relative positions, [buckets, heads]; 0: not the first of its stack */
} ms_t5_attention;

/* Attention or the MLP with what stands around it. */
typedef struct ms_t5_part {
    uint32_t scope;
    ms_norm_module norm;
} ms_t5_part;

typedef struct ms_t5_layer {
    uint32_t scope, mlp_scope;
    ms_t5_part self_part, cross_part, mlp_part;
    ms_t5_attention self, cross;   /* cross: of the decoder's layers */
    ms_linear_module wi, gate, wo; /* gate: gated MLPs */
} ms_t5_layer;

typedef struct ms_t5_stack {
    uint32_t scope, first, count; /* layers, by their numbers in the model */
    bool decodes;
    ms_norm_module norm;
    ms_dim tokens;         /* of a sequence */
    ms_tensor bias, cross; /* of the running pass: biases that all its layers share; owned by it */
    ms_tensor mask;        /* of its own tokens; 0: none */
    ms_tensor cross_mask;  /* of the encoder's; 0: none */
    ms_tensor handed[2];   /* the biases that its first layer made, retained for the stack */
} ms_t5_stack;

typedef struct ms_t5 {
    uint32_t embedding_scope;
    ms_tensor embedding;
    ms_t5_layer *layers; /* the encoder's, then the decoder's */
    ms_t5_stack encoder, decoder;
    ms_tensor encoded; /* of the running pass: the encoder's result; owned by it */
    ms_linear_module head;
} ms_t5;

ms_tensor ms_t5_norm(ms_model *model, const ms_norm_module *module, ms_tensor x);
/* Runs layer after layer on *hidden, a local of `f`. */
void ms_t5_run_layers(ms_model *model, ms_t5_stack *stack, ms_locals *f, ms_tensor *hidden);

#endif
