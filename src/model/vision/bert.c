/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * BERT: an encoder with learned positions and sentence types, norms after the residuals, biases
 * everywhere. Its class determines the pooler and the heads.
 */
#include "model/blocks/blocks.h"
#include "model/family/family_list.h"
#include "model/family/family_keys.h"
#include "ops/ops.h"

/* clang-format off */
static const ms_key keys[] = {
    COUNT("vocab_size", vocab_size, 30522, MAX_VOCAB),
    COUNT("hidden_size", hidden_size, 768, MAX_HIDDEN),
    COUNT("num_hidden_layers", num_layers, 12, MAX_LAYERS),
    COUNT("num_attention_heads", num_heads, 12, MAX_HEADS),
    COUNT("intermediate_size", intermediate_size, 3072, MAX_INTERMEDIATE),
    COUNT("type_vocab_size", sentence_types, 2, MAX_VOCAB),
    { .name = "max_position_embeddings", .kind = MS_KEY_COUNT, .offset = MEMBER(max_positions),
      .default_value = 512, .minimum = 1, .maximum = MAX_POSITIONS, .learned = true },
    ACTIVATION("hidden_act", MS_ACTIVATION_GELU),
    FRACTION("hidden_dropout_prob", residual_dropout, 0.1),
    FRACTION("attention_probs_dropout_prob", attention_dropout, 0.1),
    { .name = "classifier_dropout", .kind = MS_KEY_FRACTION, .offset = MEMBER(classifier_dropout),
      .default_kind = MS_DEFAULT_SAME_AS, .null_kind = MS_DEFAULT_SAME_AS,
      .default_offset = MEMBER(residual_dropout) },
    BOOL("tie_word_embeddings", tie_word_embeddings, true),
    FIXED("is_decoder", false),
    FIXED("add_cross_attention", false),
    IGNORED("pad_token_id"),
    IGNORED("bos_token_id"),
    IGNORED("eos_token_id"),
    IGNORED("initializer_range"),
    IGNORED("layer_norm_eps"),
    IGNORED("use_cache"),
    IGNORED("position_embedding_type"),
};
/* clang-format on */

typedef struct layer {
    uint32_t scope, attention_scope, output_scope;
    ms_linear_module query, key, value, attention_dense, up, down;
    ms_norm_module attention_norm, norm;
} layer;

typedef struct bert {
    uint32_t scope, embeddings_scope, words_scope, positions_scope, types_scope;
    ms_tensor words, positions, types;
    ms_tensor position_ids, type_ids; /* buffers */
    ms_norm_module embeddings_norm, transform_norm;
    layer *layers;
    ms_linear_module pooler, transform, decoder, classifier;
} bert;

static bool has_pooler(const ms_model *model)
{
    return model->config->head != MS_HEAD_MASKED_LM;
}

static bool predicts_words(const ms_model *model)
{
    return model->config->head != MS_HEAD_FIRST_TOKEN;
}

/* ---- construction ---- */

static uint32_t child(ms_model *model, uint32_t parent, const char *name)
{
    return ms_scope_add(model->tape, parent, name, MS_NONE);
}

static ms_tensor embedding_new(ms_model *model, uint32_t parent, const char *name, ms_dim rows,
                               uint32_t *scope)
{
    ms_tensor weight = ms_embedding_new(model, parent, name, rows, model->hidden);
    *scope = model->tape->trace->scopes.count - 1;
    return weight;
}

static void build_embeddings(ms_model *model, bert *b)
{
    const ms_model_config *config = model->config;
    ms_symbols *s = &model->tape->trace->symbols;
    ms_dim one = ms_dim_number(s, 1);
    ms_dim positions = ms_dim_name(s, "P", config->max_positions);
    uint32_t scope = b->embeddings_scope = child(model, b->scope, "embeddings");
    b->words = embedding_new(model, scope, "word_embeddings", model->vocab, &b->words_scope);
    b->positions =
        embedding_new(model, scope, "position_embeddings", positions, &b->positions_scope);
    b->types = embedding_new(model, scope, "token_type_embeddings",
                             ms_dim_name(s, "T", config->sentence_types), &b->types_scope);
    b->embeddings_norm = ms_norm_new(model, scope, "LayerNorm", model->hidden, true);
    uint32_t previous = ms_scope_enter(model->tape, scope);
    ms_shape ids = MS_SHAPE(one, positions);
    b->position_ids = ms_buffer_new(model, ids, MS_DTYPE_I64, "position_ids");
    b->type_ids = ms_buffer_new(model, ids, MS_DTYPE_I64, "token_type_ids");
    model->tape->scope = previous;
}

static void build_layer(ms_model *model, bert *b, uint32_t parent, uint32_t number)
{
    char name[16];
    snprintf(name, sizeof name, "%u", number);
    layer *l = &b->layers[number];
    ms_dim hidden = model->hidden, middle = model->intermediate;
    l->scope = ms_scope_add(model->tape, parent, name, number);
    uint32_t attention = child(model, l->scope, "attention");
    uint32_t scope = l->attention_scope = child(model, attention, "self");
    l->query = ms_linear_new(model, scope, "query", hidden, hidden, true);
    l->key = ms_linear_new(model, scope, "key", hidden, hidden, true);
    l->value = ms_linear_new(model, scope, "value", hidden, hidden, true);
    scope = child(model, attention, "output");
    l->attention_dense = ms_linear_new(model, scope, "dense", hidden, hidden, true);
    l->attention_norm = ms_norm_new(model, scope, "LayerNorm", hidden, true);
    scope = child(model, l->scope, "intermediate");
    l->up = ms_linear_new(model, scope, "dense", hidden, middle, true);
    scope = l->output_scope = child(model, l->scope, "output");
    l->down = ms_linear_new(model, scope, "dense", middle, hidden, true);
    l->norm = ms_norm_new(model, scope, "LayerNorm", hidden, true);
}

/* The decoder is made with a weight and a bias of its own; tying drops both for the embedding and
 * for the head's bias, which is the first of the head's parameters. */
static void build_predictions(ms_model *model, bert *b, uint32_t cls, ms_tensor dropped[2])
{
    ms_tape *tape = model->tape;
    uint32_t scope = child(model, cls, "predictions"), first = tape->parameters.count;
    uint32_t transform = child(model, scope, "transform");
    b->transform = ms_linear_new(model, transform, "dense", model->hidden, model->hidden, true);
    b->transform_norm = ms_norm_new(model, transform, "LayerNorm", model->hidden, true);
    if (model->config->tie_word_embeddings) {
        b->decoder =
            (ms_linear_module){.scope = child(model, scope, "decoder"), .weight = b->words};
        if (!ms_is_made_on_host(model)) {
            dropped[0] = ms_empty(tape, MS_SHAPE(model->vocab, model->hidden), model->run->dtype);
            dropped[1] = ms_empty(tape, MS_SHAPE(model->vocab), model->run->dtype);
        }
    } else {
        b->decoder = ms_linear_new(model, scope, "decoder", model->hidden, model->vocab, true);
    }
    ms_tensor bias = ms_parameter_new(model, scope, "bias", MS_SHAPE(model->vocab));
    ms_parameter_move_last(model, first);
    if (model->config->tie_word_embeddings)
        b->decoder.bias = bias;
}

static void build_heads(ms_model *model, bert *b)
{
    ms_tape *tape = model->tape;
    ms_tensor dropped[2] = {0};
    if (!predicts_words(model)) {
        b->classifier =
            ms_linear_new(model, MS_NONE, "classifier", model->hidden, model->labels, true);
        return;
    }
    uint32_t cls = child(model, MS_NONE, "cls");
    build_predictions(model, b, cls, dropped);
    if (model->config->head == MS_HEAD_PRETRAINING)
        b->classifier =
            ms_linear_new(model, cls, "seq_relationship", model->hidden, model->labels, true);
    ms_consume(tape, dropped[0]);
    ms_consume(tape, dropped[1]);
}

static bool build(ms_model *model)
{
    ms_tape *tape = model->tape;
    uint64_t count = model->config->num_layers;
    bert *b = ms_arena_array(model->arena, bert, 1);
    layer *layers = ms_arena_array(model->arena, layer, count);
    if (!b || !layers)
        return false;
    model->modules = b;
    model->softmax_uncast = true;
    b->layers = layers;
    b->scope = child(model, MS_NONE, "bert");
    build_embeddings(model, b);
    uint32_t parent = child(model, child(model, b->scope, "encoder"), "layer");
    for (uint32_t i = 0; i < count && tape->status == MS_OK; i++)
        build_layer(model, b, parent, i);
    if (has_pooler(model))
        b->pooler = ms_linear_new(model, child(model, b->scope, "pooler"), "dense", model->hidden,
                                  model->hidden, true);
    /* Initialising the weights makes the position ids once more. */
    if (!ms_is_made_on_host(model))
        ms_transient(tape, 8 * model->config->max_positions, MS_DTYPE_I64);
    build_heads(model, b);
    return true;
}

/* ---- layers ---- */

static ms_tensor attention(ms_model *model, uint64_t number, ms_tensor x, ms_tensor *weights)
{
    ms_tape *tape = model->tape;
    const layer *l = &((const bert *)model->modules)->layers[number];
    uint32_t previous = ms_scope_enter(tape, l->attention_scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, x);
    ms_tensor *query =
        ms_local(&f, ms_as_heads(model, ms_linear_call(model, &l->query, *hidden), model->heads));
    ms_tensor *key =
        ms_local(&f, ms_as_heads(model, ms_linear_call(model, &l->key, *hidden), model->heads));
    ms_tensor *value =
        ms_local(&f, ms_as_heads(model, ms_linear_call(model, &l->value, *hidden), model->heads));
    ms_tensor *output =
        ms_attend_merged(model, &f, number, (ms_tensor[]){*query, *key, *value}, 0, weights);
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
    const bert *b = model->modules;
    const layer *l = &b->layers[number];
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

/* ---- forward ---- */

static ms_tensor embed(ms_model *model, uint32_t scope, ms_tensor weight, ms_tensor ids)
{
    uint32_t previous = ms_scope_enter(model->tape, scope);
    ms_tensor out = ms_embedding(model->tape, weight, ids);
    model->tape->scope = previous;
    return out;
}

static ms_tensor run_embeddings(ms_model *model, const bert *b, ms_tensor ids)
{
    ms_tape *tape = model->tape;
    ms_dim one = ms_dim_number(&tape->trace->symbols, 1);
    uint32_t previous = ms_scope_enter(tape, b->embeddings_scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *type_ids = ms_local(&f, ms_empty(tape, MS_SHAPE(one, model->seq), MS_DTYPE_I64));
    ms_assign(&f, type_ids, ms_expand(tape, *type_ids, MS_SHAPE(model->batch, model->seq)));
    ms_tensor *position_ids = ms_local(&f, ms_narrow(tape, b->position_ids, 1, model->seq));
    ms_tensor *words = ms_local(&f, ms_input_embedding(model, b->words_scope, b->words, 0, ids));
    ms_tensor *types = ms_local(&f, embed(model, b->types_scope, b->types, *type_ids));
    ms_tensor *sum = ms_local(&f, ms_add(tape, *words, *types));
    ms_tensor *positions =
        ms_local(&f, embed(model, b->positions_scope, b->positions, *position_ids));
    ms_assign(&f, sum, ms_add(tape, *sum, *positions));
    ms_assign(&f, sum, ms_layer_norm_call(model, &b->embeddings_norm, *sum));
    ms_assign(&f, sum, ms_dropout(tape, *sum, model->config->residual_dropout));
    ms_tensor result = ms_locals_end(&f, sum);
    tape->scope = previous;
    return result;
}

/* tanh(dense(x[:, 0])) */
static ms_tensor pool(ms_model *model, const bert *b, ms_tensor hidden)
{
    ms_tape *tape = model->tape;
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *first = ms_local(&f, ms_select(tape, hidden, 1));
    ms_tensor *pooled = ms_local(&f, ms_linear_call(model, &b->pooler, *first));
    ms_assign(&f, pooled, ms_tanh(tape, *pooled));
    return ms_locals_end(&f, pooled);
}

/* Yields the last hidden states; *pooled: what the pooler makes of them, retained, or 0. */
static ms_tensor run_model(ms_model *model, const bert *b, ms_tensor ids, ms_tensor *pooled)
{
    ms_tape *tape = model->tape;
    uint32_t previous = ms_scope_enter(tape, b->scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *embedded = ms_local(&f, run_embeddings(model, b, ids));
    ms_tensor *hidden = ms_local(&f, *embedded);
    for (uint32_t i = 0; i < model->config->num_layers && tape->status == MS_OK; i++) {
        const ms_region region = {.run = run_layer, .context = model, .number = i};
        ms_assign(&f, hidden, ms_layer_call(model, &region, *hidden));
    }
    *pooled = has_pooler(model) ? pool(model, b, *hidden) : 0;
    ms_retain(tape, *pooled);
    ms_tensor result = ms_locals_end(&f, hidden);
    tape->scope = previous;
    return result;
}

/* decoder(norm(act(dense(x)))) */
static ms_tensor predict(ms_model *model, const bert *b, ms_tensor x)
{
    ms_locals f = ms_locals_begin(model->tape);
    ms_tensor *hidden = ms_argument(&f, x);
    ms_assign(&f, hidden, ms_activation_call(model, ms_linear_call(model, &b->transform, *hidden)));
    ms_assign(&f, hidden, ms_layer_norm_call(model, &b->transform_norm, *hidden));
    ms_assign(&f, hidden, ms_linear_call(model, &b->decoder, *hidden));
    return ms_locals_end(&f, hidden);
}

/* cross_entropy(scores.view(-1, V), labels.view(-1)) */
static ms_tensor words_loss(ms_model *model, ms_tensor scores, ms_tensor labels)
{
    ms_tape *tape = model->tape;
    ms_dim tokens = ms_dim_mul(&tape->trace->symbols, model->batch, model->seq);
    ms_tensor flat = ms_view(tape, labels, MS_SHAPE(tokens));
    return ms_cross_entropy(tape, ms_view(tape, scores, MS_SHAPE(tokens, model->vocab)), flat);
}

/* Binds the losses of what there is, and their sum. */
static void add_losses(ms_model *model, ms_locals *f, ms_tensor words, ms_tensor classes,
                       ms_tensor labels, ms_tensor *loss)
{
    if (words)
        ms_assign(f, loss, words_loss(model, words, labels));
    if (words && classes) {
        ms_tensor *first = ms_local(f, *loss);
        ms_tensor *second = ms_local(f, ms_class_loss(model, classes));
        ms_assign(f, loss, ms_add(model->tape, *first, *second));
    } else if (classes) {
        ms_assign(f, loss, ms_class_loss(model, classes));
    }
}

static void forward(ms_model *model, const ms_model_inputs *in, ms_model_outputs *out)
{
    ms_tape *tape = model->tape;
    const bert *b = model->modules;
    ms_tensor pooled_output;
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_local(&f, run_model(model, b, in->ids, &pooled_output));
    ms_tensor *pooled = ms_local(&f, pooled_output);
    ms_release(tape, pooled_output);
    ms_tensor *words = ms_local(&f, 0), *classes = ms_local(&f, 0), *loss = ms_local(&f, 0);
    if (predicts_words(model))
        ms_assign(&f, words, predict(model, b, *hidden));
    if (model->config->head == MS_HEAD_PRETRAINING)
        ms_assign(&f, classes, ms_linear_call(model, &b->classifier, *pooled));
    if (model->config->head == MS_HEAD_FIRST_TOKEN) {
        ms_tensor *dropped =
            ms_local(&f, ms_dropout(tape, *pooled, model->config->classifier_dropout));
        ms_assign(&f, classes, ms_linear_call(model, &b->classifier, *dropped));
    }
    if (in->keeps_hidden)
        out->hidden = ms_hand_out(tape, *hidden);
    if (in->keeps_logits || !in->labels)
        out->logits = ms_hand_out(tape, *words ? *words : *classes);
    if (in->labels)
        add_losses(model, &f, *words, *classes, in->labels, loss);
    ms_forward_end(&f, loss, out);
}

static const ms_model_program program = {build, forward};

const ms_family ms_family_bert = {
    .model_type = "bert",
    .classes = {{"BertForMaskedLM", MS_HEAD_MASKED_LM},
                {"BertForSequenceClassification", MS_HEAD_FIRST_TOKEN},
                {"BertForPreTraining", MS_HEAD_PRETRAINING}},
    .keys = keys,
    .key_count = sizeof keys / sizeof *keys,
    .check = ms_check_heads_divide,
    .has_no_mlp_module = true,
    .is_bidirectional = true,
    .program = &program};
