/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * DistilBERT: BERT's layers without sentence types and pooler, with the attention's output inside
 * the attention and one dropout in the MLP.
 */
#include "model/blocks/blocks.h"
#include "model/blocks/attention/masks.h"
#include "model/family/family_list.h"
#include "model/family/family_keys.h"
#include "model/encoder/encoder.h"
#include "torch/ops/ops.h"

/* A count under the name of the class, or under the common one. */
#define NAMED(own, common, member, value, most)                                                    \
    {                                                                                              \
        .name = own, .aliases = {common}, .kind = MS_KEY_COUNT, .offset = MEMBER(member),          \
        .default_value = value, .minimum = 1, .maximum = most                                      \
    }

/* clang-format off */
static const ms_key keys[] = {
    COUNT("vocab_size", vocab_size, 30522, MAX_VOCAB),
    NAMED("dim", "hidden_size", hidden_size, 768, MAX_HIDDEN),
    NAMED("n_layers", "num_hidden_layers", num_layers, 6, MAX_LAYERS),
    NAMED("n_heads", "num_attention_heads", num_heads, 12, MAX_HEADS),
    COUNT("hidden_dim", intermediate_size, 3072, MAX_INTERMEDIATE),
    { .name = "max_position_embeddings", .kind = MS_KEY_COUNT, .offset = MEMBER(max_positions),
      .default_value = 512, .minimum = 1, .maximum = MAX_POSITIONS, .learned = true },
    ACTIVATION("activation", MS_ACTIVATION_GELU),
    FRACTION("dropout", residual_dropout, 0.1),
    FRACTION("attention_dropout", attention_dropout, 0.1),
    FRACTION("seq_classif_dropout", classifier_dropout, 0.2),
    BOOL("tie_word_embeddings", tie_word_embeddings, true),
    FIXED("sinusoidal_pos_embds", false),
    IGNORED("qa_dropout"),
    IGNORED("tie_weights_"),
    IGNORED("pad_token_id"),
    IGNORED("bos_token_id"),
    IGNORED("eos_token_id"),
    IGNORED("initializer_range"),
    IGNORED("output_past"),
};
/* clang-format on */

typedef struct layer {
    uint32_t scope, attention_scope, mlp_scope;
    ms_linear_module query, key, value, out, up, down;
    ms_norm_module attention_norm, norm;
} layer;

typedef struct distilbert {
    uint32_t scope, embeddings_scope;
    ms_learned_table words, positions;
    ms_tensor position_ids; /* a buffer */
    ms_norm_module embeddings_norm, transform_norm;
    layer *layers;
    ms_linear_module transform, projector, classifier; /* transform: pre_classifier of classes */
} distilbert;

static bool predicts_words(const ms_model *model)
{
    return model->config->head == MS_HEAD_MASKED_LM;
}

/* ---- construction ---- */

static void build_embeddings(ms_model *model, distilbert *d)
{
    ms_symbols *s = &model->tape->trace->symbols;
    ms_dim positions = ms_dim_name(s, "P", model->config->max_positions);
    uint32_t scope = d->embeddings_scope = ms_child_scope(model, d->scope, "embeddings");
    d->words = ms_learned_table_new(model, scope, "word_embeddings", model->vocab);
    d->positions = ms_learned_table_new(model, scope, "position_embeddings", positions);
    d->embeddings_norm = ms_norm_new(model, scope, "LayerNorm", model->hidden, true);
    uint32_t previous = ms_scope_enter(model->tape, scope);
    ms_shape ids = MS_SHAPE(ms_dim_number(s, 1), positions);
    d->position_ids = ms_buffer_new(model, ids, MS_DTYPE_I64, "position_ids");
    model->tape->scope = previous;
}

static void build_layer(ms_model *model, distilbert *d, uint32_t parent, uint32_t number)
{
    char name[16];
    snprintf(name, sizeof name, "%u", number);
    layer *l = &d->layers[number];
    ms_dim hidden = model->hidden, middle = model->intermediate;
    l->scope = ms_scope_add(model->tape, parent, name, number);
    uint32_t scope = l->attention_scope = ms_child_scope(model, l->scope, "attention");
    l->query = ms_linear_new(model, scope, "q_lin", hidden, hidden, true);
    l->key = ms_linear_new(model, scope, "k_lin", hidden, hidden, true);
    l->value = ms_linear_new(model, scope, "v_lin", hidden, hidden, true);
    l->out = ms_linear_new(model, scope, "out_lin", hidden, hidden, true);
    l->attention_norm = ms_norm_new(model, l->scope, "sa_layer_norm", hidden, true);
    scope = l->mlp_scope = ms_child_scope(model, l->scope, "ffn");
    l->up = ms_linear_new(model, scope, "lin1", hidden, middle, true);
    l->down = ms_linear_new(model, scope, "lin2", middle, hidden, true);
    l->norm = ms_norm_new(model, l->scope, "output_layer_norm", hidden, true);
}

/* The projector is made with a weight of its own, which tying drops for the embedding. */
static void build_heads(ms_model *model, distilbert *d)
{
    ms_tape *tape = model->tape;
    ms_tensor dropped = 0;
    if (!predicts_words(model)) {
        if (model->config->head == MS_HEAD_FIRST_TOKEN)
            d->transform =
                ms_linear_new(model, MS_NONE, "pre_classifier", model->hidden, model->hidden, true);
        d->classifier =
            ms_linear_new(model, MS_NONE, "classifier", model->hidden, model->labels, true);
        return;
    }
    d->transform =
        ms_linear_new(model, MS_NONE, "vocab_transform", model->hidden, model->hidden, true);
    d->transform_norm = ms_norm_new(model, MS_NONE, "vocab_layer_norm", model->hidden, true);
    if (!model->config->tie_word_embeddings) {
        d->projector =
            ms_linear_new(model, MS_NONE, "vocab_projector", model->hidden, model->vocab, true);
        return;
    }
    d->projector = (ms_linear_module){.scope = ms_child_scope(model, MS_NONE, "vocab_projector"),
                                      .weight = d->words.weight};
    if (!ms_is_made_on_host(model))
        dropped = ms_empty(tape, MS_SHAPE(model->vocab, model->hidden), model->run->dtype);
    d->projector.bias = ms_parameter_new(model, d->projector.scope, "bias", MS_SHAPE(model->vocab));
    ms_consume(tape, dropped);
    ms_bias_pad(model, d->projector.bias);
}

static bool build(ms_model *model)
{
    ms_tape *tape = model->tape;
    uint64_t count = model->config->num_layers;
    distilbert *d = ms_arena_array(model->arena, distilbert, 1);
    layer *layers = ms_arena_array(model->arena, layer, count);
    if (!d || !layers)
        return false;
    model->modules = d;
    model->softmax_uncast = true;
    d->layers = layers;
    d->scope = ms_child_scope(model, MS_NONE, "distilbert");
    build_embeddings(model, d);
    uint32_t parent =
        ms_child_scope(model, ms_child_scope(model, d->scope, "transformer"), "layer");
    for (uint32_t i = 0; i < count && tape->status == MS_OK; i++)
        build_layer(model, d, parent, i);
    ms_remake_position_ids(model);
    build_heads(model, d);
    return true;
}

/* ---- layers ---- */

static ms_tensor attention(ms_model *model, uint64_t number, ms_tensor x, ms_tensor *weights)
{
    ms_tape *tape = model->tape;
    const layer *l = &((const distilbert *)model->modules)->layers[number];
    uint32_t previous = ms_scope_enter(tape, l->attention_scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, x);
    const ms_linear_module *const q_k_v[] = {&l->query, &l->key, &l->value};
    ms_tensor *output = ms_attend_all(model, &f, number, q_k_v, *hidden, weights);
    ms_assign(&f, output, ms_linear_call(model, &l->out, *output));
    ms_tensor result = ms_locals_end(&f, output);
    ms_unown(tape, *weights);
    tape->scope = previous;
    return result;
}

/* dropout(lin2(act(lin1(x)))) */
static ms_tensor mlp(ms_model *model, const layer *l, ms_tensor input)
{
    ms_tape *tape = model->tape;
    uint32_t previous = ms_scope_enter(tape, l->mlp_scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *x = ms_local(&f, ms_linear_call(model, &l->up, input));
    ms_assign(&f, x, ms_activation_call(model, *x));
    ms_assign(&f, x, ms_linear_call(model, &l->down, *x));
    ms_assign(&f, x, ms_dropout(tape, *x, model->config->residual_dropout));
    ms_tensor result = ms_locals_end(&f, x);
    tape->scope = previous;
    return result;
}

static ms_tensor run_layer(ms_tape *tape, void *context, uint64_t number, ms_tensor input)
{
    ms_model *model = context;
    const layer *l = &((const distilbert *)model->modules)->layers[number];
    uint32_t previous = ms_scope_enter(tape, l->scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, input);
    ms_tensor weights;
    ms_tensor *attended = ms_local(&f, attention(model, number, *hidden, &weights));
    ms_local(&f, weights);
    ms_assign(&f, attended,
              ms_layer_norm_call(model, &l->attention_norm, ms_add(tape, *attended, *hidden)));
    ms_tensor *out = ms_local(&f, mlp(model, l, *attended));
    ms_assign(&f, out, ms_layer_norm_call(model, &l->norm, ms_add(tape, *out, *attended)));
    ms_tensor result = ms_locals_end(&f, out);
    tape->scope = previous;
    return result;
}

/* ---- forward ---- */

static ms_tensor run_embeddings(ms_model *model, const distilbert *d, ms_tensor ids)
{
    ms_tape *tape = model->tape;
    uint32_t previous = ms_scope_enter(tape, d->embeddings_scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *words =
        ms_local(&f, ms_input_embedding(model, d->words.scope, d->words.weight, 0, ids));
    ms_tensor *position_ids = ms_local(&f, ms_narrow(tape, d->position_ids, 1, model->seq));
    ms_tensor *positions = ms_local(&f, ms_learned_table_call(model, &d->positions, *position_ids));
    ms_tensor *sum = ms_local(&f, ms_add(tape, *words, *positions));
    ms_assign(&f, sum, ms_layer_norm_call(model, &d->embeddings_norm, *sum));
    ms_assign(&f, sum, ms_dropout(tape, *sum, model->config->residual_dropout));
    ms_tensor result = ms_locals_end(&f, sum);
    tape->scope = previous;
    return result;
}

static ms_tensor run_model(ms_model *model, const distilbert *d, ms_tensor ids)
{
    ms_tape *tape = model->tape;
    uint32_t previous = ms_scope_enter(tape, d->scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *embedded = ms_local(&f, run_embeddings(model, d, ids));
    model->mask = *ms_local(&f, ms_padding_mask(model, model->seq, model->seq));
    ms_tensor *hidden = ms_local(&f, *embedded);
    for (uint32_t i = 0; i < model->config->num_layers && tape->status == MS_OK; i++) {
        const ms_region region = {
            .run = run_layer, .context = model, .number = i, .positional = &model->mask};
        ms_assign(&f, hidden, ms_layer_call(model, &region, *hidden));
    }
    ms_tensor result = ms_locals_end(&f, hidden);
    tape->scope = previous;
    return result;
}

/* projector(norm(act(transform(x)))) */
static void predict(ms_model *model, const distilbert *d, ms_locals *f, ms_tensor hidden,
                    ms_tensor *logits)
{
    ms_assign(f, logits, ms_linear_call(model, &d->transform, hidden));
    ms_assign(f, logits, ms_activation_call(model, *logits));
    ms_assign(f, logits, ms_layer_norm_call(model, &d->transform_norm, *logits));
    ms_assign(f, logits, ms_linear_call(model, &d->projector, *logits));
}

/* classifier(dropout(relu(pre_classifier(x[:, 0])))) */
static void classify(ms_model *model, const distilbert *d, ms_locals *f, ms_tensor hidden,
                     ms_tensor *logits)
{
    ms_tape *tape = model->tape;
    ms_tensor *pooled = ms_local(f, ms_select(tape, hidden, 1));
    ms_assign(f, pooled, ms_linear_call(model, &d->transform, *pooled));
    ms_assign(f, pooled, ms_relu(tape, *pooled));
    ms_assign(f, pooled, ms_dropout(tape, *pooled, model->config->classifier_dropout));
    ms_assign(f, logits, ms_linear_call(model, &d->classifier, *pooled));
}

/* classifier(dropout(x)) */
static void classify_tokens(ms_model *model, const distilbert *d, ms_locals *f, ms_tensor hidden,
                            ms_tensor *logits)
{
    ms_tensor *dropped =
        ms_local(f, ms_dropout(model->tape, hidden, model->config->residual_dropout));
    ms_assign(f, logits, ms_linear_call(model, &d->classifier, *dropped));
}

static void run_head(ms_model *model, const distilbert *d, ms_locals *f, ms_tensor hidden,
                     ms_tensor *logits)
{
    if (predicts_words(model))
        predict(model, d, f, hidden, logits);
    else if (model->config->head == MS_HEAD_FIRST_TOKEN)
        classify(model, d, f, hidden, logits);
    else
        classify_tokens(model, d, f, hidden, logits);
}

static void forward(ms_model *model, const ms_model_inputs *in, ms_model_outputs *out)
{
    ms_tape *tape = model->tape;
    const distilbert *d = model->modules;
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_local(&f, run_model(model, d, in->ids));
    ms_tensor *logits = ms_local(&f, 0);
    run_head(model, d, &f, *hidden, logits);
    ms_encoder_end(model, &f, hidden, logits, ms_words_loss, in, out);
}

static const ms_model_program program = {build, forward};

static const ms_family_facts facts = {
    .peft = {.usual_lora = "q_lin+v_lin"},
};

const ms_family ms_family_distilbert = {
    .model_type = "distilbert",
    .facts = &facts,
    .classes = {{"DistilBertForMaskedLM", MS_HEAD_MASKED_LM},
                {"DistilBertForSequenceClassification", MS_HEAD_FIRST_TOKEN},
                {"DistilBertForTokenClassification", MS_HEAD_EACH_TOKEN}},
    .keys = keys,
    .key_count = sizeof keys / sizeof *keys,
    .check = ms_check_heads_divide,
    .has_no_mlp_module = true,
    .is_bidirectional = true,
    .program = &program};
