/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What BERT and the encoders after it share: layers with norms after the residuals, and the head
 * that predicts words.
 */
#ifndef MS_MODEL_ENCODER_BERT_LAYERS_H
#define MS_MODEL_ENCODER_BERT_LAYERS_H

#include "model/blocks/blocks.h"
#include "model/encoder/encoder.h"

typedef struct ms_bert_layer {
    uint32_t scope, attention_scope, output_scope;
    ms_linear_module query, key, value, attention_dense, up, down;
    ms_norm_module attention_norm, norm;
} ms_bert_layer;

/* `modules` of such a model. */
typedef struct ms_bert {
    uint32_t scope, embeddings_scope;
    ms_learned_table words, positions, types;
    ms_tensor position_ids, type_ids; /* buffers */
    ms_norm_module embeddings_norm, transform_norm;
    ms_bert_layer *layers;
    ms_linear_module pooler, transform, decoder, classifier;
    ms_tensor words_bias, own[2]; /* of the words' head; its decoder's, until it is tied */
    ms_linear_module widening;    /* electra: from the width of its tables to that of its layers */
} ms_bert;

/* The modules of the model, with its layers' array; NULL when out of memory. */
ms_bert *ms_bert_new(ms_model *model, const char *name);
/* The buffers of the embeddings: the numbers of positions, and types, all 0. */
void ms_bert_buffers_new(ms_model *model, ms_bert *b, ms_dim positions);
/* The tables of words, positions and types, of that width, their norm, and those buffers. */
void ms_bert_embeddings_new(ms_model *model, ms_bert *b, ms_dim width);
/* encoder.layer */
void ms_bert_layers_new(ms_model *model, ms_bert *b);
/* The head `scope`, of which `transform` has the dense layer and the norm that is named so. The
 * decoder is made with a weight and a bias of its own. */
void ms_bert_predictions_new(ms_model *model, ms_bert *b, uint32_t scope, uint32_t transform,
                             const char *norm);
/* At the end of the construction: where the config ties, the decoder's own are dropped for the
 * table of words and for the head's bias, which is the first of the head's parameters. */
void ms_bert_predictions_tie(ms_model *model, ms_bert *b);

/* `classifier`: of a sequence, two linear layers, of each token, one. */
void ms_bert_classifier_new(ms_model *model, ms_bert *b);

/* dropout(norm(words + types + positions)) of the three ids, in that order; binds what it makes,
 * and returns the local. */
ms_tensor *ms_bert_join(ms_model *model, const ms_bert *b, ms_locals *f, const ms_tensor ids[3]);
/* The same with the buffers' types and positions. */
ms_tensor ms_bert_embed(ms_model *model, const ms_bert *b, ms_tensor ids);
/* Runs all layers on what is embedded, a local of `f`; returns the last hidden states, another. */
ms_tensor *ms_bert_layers_run(ms_model *model, ms_locals *f, ms_tensor embedded);
/* decoder(norm(activation(dense(x)))), with the config's activation */
ms_tensor ms_bert_predict(ms_model *model, const ms_bert *b, ms_tensor x);

/* Where those without a pooler differ, in forward. */
typedef struct ms_bert_style {
    ms_tensor (*embed)(ms_model *model, const ms_bert *b, ms_tensor ids);
    ms_tensor (*words_activation)(ms_tape *tape, ms_tensor x);    /* of masked words' head */
    ms_tensor (*sequence_activation)(ms_tape *tape, ms_tensor x); /* of classes of a sequence */
} ms_bert_style;
/* The forward pass of such a model, whose `modules` are an ms_bert: embeddings, layers, and the one
 * head that it has. */
void ms_bert_forward(ms_model *model, const ms_bert_style *style, const ms_model_inputs *in,
                     ms_model_outputs *out);

#endif
