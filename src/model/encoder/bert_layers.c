/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/encoder/bert_layers.h"

#include <stdio.h>

#include "input/config/model/model_config.h"
#include "model/blocks/attention/masks.h"
#include "torch/ops/ops.h"

/* ---- construction ---- */

ms_bert *ms_bert_new(ms_model *model, const char *name)
{
    ms_bert *b = ms_arena_array(model->arena, ms_bert, 1);
    ms_bert_layer *layers = ms_arena_array(model->arena, ms_bert_layer, model->config->num_layers);
    if (!b || !layers)
        return NULL;
    b->layers = layers;
    b->scope = ms_child_scope(model, MS_NONE, name);
    model->modules = b;
    model->softmax_uncast = true;
    return b;
}

void ms_bert_buffers_new(ms_model *model, ms_bert *b, ms_dim positions)
{
    ms_dim one = ms_dim_number(&model->tape->trace->symbols, 1);
    uint32_t previous = ms_scope_enter(model->tape, b->embeddings_scope);
    ms_shape ids = MS_SHAPE(one, positions);
    b->position_ids = ms_buffer_new(model, ids, MS_DTYPE_I64, "position_ids");
    b->type_ids = ms_buffer_new(model, ids, MS_DTYPE_I64, "token_type_ids");
    model->tape->scope = previous;
}

void ms_bert_embeddings_new(ms_model *model, ms_bert *b, ms_dim width)
{
    ms_symbols *s = &model->tape->trace->symbols;
    ms_dim positions = ms_dim_name(s, "P", model->config->max_positions);
    ms_dim types = ms_dim_name(s, "T", model->config->sentence_types);
    uint32_t scope = b->embeddings_scope = ms_child_scope(model, b->scope, "embeddings");
    b->words = ms_learned_table_of(model, scope, "word_embeddings", model->vocab, width);
    b->positions = ms_learned_table_of(model, scope, "position_embeddings", positions, width);
    b->types = ms_learned_table_of(model, scope, "token_type_embeddings", types, width);
    b->embeddings_norm = ms_norm_new(model, scope, "LayerNorm", width, true);
    ms_bert_buffers_new(model, b, positions);
}

void ms_bert_classifier_new(ms_model *model, ms_bert *b)
{
    uint32_t scope = MS_NONE;
    const char *name = "classifier";
    if (model->config->head == MS_HEAD_FIRST_TOKEN) {
        scope = ms_child_scope(model, MS_NONE, name);
        b->transform = ms_linear_new(model, scope, "dense", model->hidden, model->hidden, true);
        name = "out_proj";
    }
    b->classifier = ms_linear_new(model, scope, name, model->hidden, model->labels, true);
}

static void build_layer(ms_model *model, ms_bert *b, uint32_t parent, uint32_t number)
{
    char name[16];
    snprintf(name, sizeof name, "%u", number);
    ms_bert_layer *l = &b->layers[number];
    ms_dim hidden = model->hidden, middle = model->intermediate;
    l->scope = ms_scope_add(model->tape, parent, name, number);
    uint32_t attention = ms_child_scope(model, l->scope, "attention");
    uint32_t scope = l->attention_scope = ms_child_scope(model, attention, "self");
    l->query = ms_linear_new(model, scope, "query", hidden, hidden, true);
    l->key = ms_linear_new(model, scope, "key", hidden, hidden, true);
    l->value = ms_linear_new(model, scope, "value", hidden, hidden, true);
    scope = ms_child_scope(model, attention, "output");
    l->attention_dense = ms_linear_new(model, scope, "dense", hidden, hidden, true);
    l->attention_norm = ms_norm_new(model, scope, "LayerNorm", hidden, true);
    scope = ms_child_scope(model, l->scope, "intermediate");
    l->up = ms_linear_new(model, scope, "dense", hidden, middle, true);
    scope = l->output_scope = ms_child_scope(model, l->scope, "output");
    l->down = ms_linear_new(model, scope, "dense", middle, hidden, true);
    l->norm = ms_norm_new(model, scope, "LayerNorm", hidden, true);
}

void ms_bert_layers_new(ms_model *model, ms_bert *b)
{
    uint32_t parent = ms_child_scope(model, ms_child_scope(model, b->scope, "encoder"), "layer");
    for (uint32_t i = 0; i < model->config->num_layers && model->tape->status == MS_OK; i++)
        build_layer(model, b, parent, i);
}

void ms_bert_predictions_new(ms_model *model, ms_bert *b, uint32_t scope, uint32_t transform,
                             const char *norm)
{
    ms_tape *tape = model->tape;
    uint32_t first = tape->parameters.count;
    b->transform = ms_linear_new(model, transform, "dense", model->hidden, model->hidden, true);
    b->transform_norm = ms_norm_new(model, transform, norm, model->hidden, true);
    if (!model->config->tie_word_embeddings) {
        b->decoder = ms_linear_new(model, scope, "decoder", model->hidden, model->vocab, true);
    } else {
        b->decoder.scope = ms_child_scope(model, scope, "decoder");
        if (!ms_is_made_on_host(model)) {
            b->own[0] = ms_empty(tape, MS_SHAPE(model->vocab, model->hidden), model->run->dtype);
            b->own[1] = ms_empty(tape, MS_SHAPE(model->vocab), model->run->dtype);
        }
    }
    b->words_bias = ms_parameter_new(model, scope, "bias", MS_SHAPE(model->vocab));
    ms_parameter_move_last(model, first);
}

void ms_bert_predictions_tie(ms_model *model, ms_bert *b)
{
    if (!model->config->tie_word_embeddings)
        return;
    ms_consume(model->tape, b->own[0]);
    ms_bias_pad(model, b->own[1]);
    ms_consume(model->tape, b->own[1]);
    ms_bias_pad(model, b->words_bias);
    b->decoder.weight = b->words.weight;
    b->decoder.bias = b->words_bias;
}

/* ---- layers ---- */

static ms_tensor attention(ms_model *model, uint64_t number, ms_tensor x, ms_tensor *weights)
{
    ms_tape *tape = model->tape;
    const ms_bert_layer *l = &((const ms_bert *)model->modules)->layers[number];
    uint32_t previous = ms_scope_enter(tape, l->attention_scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, x);
    const ms_linear_module *const q_k_v[] = {&l->query, &l->key, &l->value};
    ms_tensor *output = ms_attend_all(model, &f, number, q_k_v, *hidden, weights);
    ms_tensor result = ms_locals_end(&f, output);
    ms_unown(tape, *weights);
    tape->scope = previous;
    return result;
}

/* norm(dropout(dense(x)) + residual) */
static ms_tensor output_of(ms_model *model, const ms_linear_module *dense,
                           const ms_norm_module *norm, ms_tensor x, ms_tensor residual)
{
    ms_tape *tape = model->tape;
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, x);
    ms_assign(&f, hidden, ms_linear_call(model, dense, *hidden));
    ms_assign(&f, hidden, ms_dropout(tape, *hidden, model->config->residual_dropout));
    ms_assign(&f, hidden, ms_layer_norm_call(model, norm, ms_add(tape, *hidden, residual)));
    return ms_locals_end(&f, hidden);
}

static ms_tensor run_layer(ms_tape *tape, void *context, uint64_t number, ms_tensor input)
{
    ms_model *model = context;
    const ms_bert *b = model->modules;
    const ms_bert_layer *l = &b->layers[number];
    uint32_t previous = ms_scope_enter(tape, l->scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, input);
    ms_tensor weights;
    ms_tensor *attended = ms_local(&f, attention(model, number, *hidden, &weights));
    ms_local(&f, weights);
    ms_assign(&f, attended,
              output_of(model, &l->attention_dense, &l->attention_norm, *attended, *hidden));
    ms_local(&f, *attended); /* attention_output, beside self_attention_output */
    ms_tensor *middle =
        ms_local(&f, ms_activation_call(model, ms_linear_call(model, &l->up, *attended)));
    ms_tensor *out = ms_local(&f, output_of(model, &l->down, &l->norm, *middle, *attended));
    ms_assign(&f, middle, 0); /* feed_forward_chunk's own */
    ms_tensor result = ms_locals_end(&f, out);
    tape->scope = previous;
    return result;
}

ms_tensor *ms_bert_join(ms_model *model, const ms_bert *b, ms_locals *f, const ms_tensor ids[3])
{
    ms_tape *tape = model->tape;
    ms_tensor *words =
        ms_local(f, ms_input_embedding(model, b->words.scope, b->words.weight, 0, ids[0]));
    ms_tensor *types = ms_local(f, ms_learned_table_call(model, &b->types, ids[1]));
    ms_tensor *sum = ms_local(f, ms_add(tape, *words, *types));
    ms_tensor *positions = ms_local(f, ms_learned_table_call(model, &b->positions, ids[2]));
    ms_assign(f, sum, ms_add(tape, *sum, *positions));
    ms_assign(f, sum, ms_layer_norm_call(model, &b->embeddings_norm, *sum));
    ms_assign(f, sum, ms_dropout(tape, *sum, model->config->residual_dropout));
    return sum;
}

ms_tensor ms_bert_embed(ms_model *model, const ms_bert *b, ms_tensor ids)
{
    ms_tape *tape = model->tape;
    ms_dim one = ms_dim_number(&tape->trace->symbols, 1);
    uint32_t previous = ms_scope_enter(tape, b->embeddings_scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *type_ids = ms_local(&f, ms_empty(tape, MS_SHAPE(one, model->seq), MS_DTYPE_I64));
    ms_assign(&f, type_ids, ms_expand(tape, *type_ids, MS_SHAPE(model->batch, model->seq)));
    ms_tensor *position_ids = ms_local(&f, ms_narrow(tape, b->position_ids, 1, model->seq));
    ms_tensor result =
        ms_locals_end(&f, ms_bert_join(model, b, &f, (ms_tensor[]){ids, *type_ids, *position_ids}));
    tape->scope = previous;
    return result;
}

ms_tensor *ms_bert_layers_run(ms_model *model, ms_locals *f, ms_tensor embedded)
{
    model->mask = *ms_local(f, ms_padding_mask(model, model->seq, model->seq));
    ms_tensor *hidden = ms_local(f, embedded);
    for (uint32_t i = 0; i < model->config->num_layers && model->tape->status == MS_OK; i++) {
        const ms_region region = {
            .run = run_layer, .context = model, .number = i, .positional = &model->mask};
        ms_assign(f, hidden, ms_layer_call(model, &region, *hidden));
    }
    return hidden;
}

/* ---- heads ---- */

/* decoder(norm(activation(dense(x)))); NULL: the config's activation */
static ms_tensor predict(ms_model *model, const ms_bert *b, ms_tensor x,
                         ms_tensor (*activation)(ms_tape *tape, ms_tensor x))
{
    ms_locals f = ms_locals_begin(model->tape);
    ms_tensor *hidden = ms_argument(&f, x);
    ms_tensor dense = ms_linear_call(model, &b->transform, *hidden);
    ms_assign(&f, hidden,
              activation ? activation(model->tape, dense) : ms_activation_call(model, dense));
    ms_assign(&f, hidden, ms_layer_norm_call(model, &b->transform_norm, *hidden));
    ms_assign(&f, hidden, ms_linear_call(model, &b->decoder, *hidden));
    return ms_locals_end(&f, hidden);
}

ms_tensor ms_bert_predict(ms_model *model, const ms_bert *b, ms_tensor x)
{
    return predict(model, b, x, NULL);
}

/* out_proj(dropout(activation(dense(dropout(x[:, 0]))))) */
static ms_tensor classify(ms_model *model, const ms_bert *b, ms_tensor hidden,
                          ms_tensor (*activation)(ms_tape *tape, ms_tensor x))
{
    ms_tape *tape = model->tape;
    double dropout = model->config->classifier_dropout;
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *x = ms_local(&f, ms_select(tape, hidden, 1));
    ms_assign(&f, x, ms_dropout(tape, *x, dropout));
    ms_assign(&f, x, ms_linear_call(model, &b->transform, *x));
    ms_assign(&f, x, activation(tape, *x));
    ms_assign(&f, x, ms_dropout(tape, *x, dropout));
    ms_assign(&f, x, ms_linear_call(model, &b->classifier, *x));
    return ms_locals_end(&f, x);
}

/* Binds the logits and what they are made of. */
static ms_tensor *run_head(ms_model *model, const ms_bert_style *style, ms_locals *f,
                           ms_tensor hidden)
{
    const ms_bert *b = model->modules;
    if (model->config->head == MS_HEAD_MASKED_LM)
        return ms_local(f, predict(model, b, hidden, style->words_activation));
    if (model->config->head == MS_HEAD_FIRST_TOKEN)
        return ms_local(f, classify(model, b, hidden, style->sequence_activation));
    ms_tensor *dropped =
        ms_local(f, ms_dropout(model->tape, hidden, model->config->classifier_dropout));
    return ms_local(f, ms_linear_call(model, &b->classifier, *dropped));
}

static ms_tensor run_model(ms_model *model, const ms_bert_style *style, ms_tensor ids)
{
    ms_tape *tape = model->tape;
    const ms_bert *b = model->modules;
    uint32_t previous = ms_scope_enter(tape, b->scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *embedded = ms_local(&f, style->embed(model, b, ids));
    ms_tensor *hidden = ms_bert_layers_run(model, &f, *embedded);
    ms_tensor result = ms_locals_end(&f, hidden);
    tape->scope = previous;
    return result;
}

void ms_bert_forward(ms_model *model, const ms_bert_style *style, const ms_model_inputs *in,
                     ms_model_outputs *out)
{
    ms_locals f = ms_locals_begin(model->tape);
    ms_tensor *hidden = ms_local(&f, run_model(model, style, in->ids));
    ms_tensor *logits = run_head(model, style, &f, *hidden);
    ms_encoder_end(model, &f, hidden, logits, ms_words_loss, in, out);
}
