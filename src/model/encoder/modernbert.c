/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * ModernBERT: an encoder with norms before attention and MLP, rotary embeddings and a gated MLP;
 * all layers but every third see a window around each token.
 */
#include <stdio.h>

#include "input/config/model/layer_kinds.h"
#include "model/blocks/attention/masks.h"
#include "model/encoder/encoder.h"
#include "model/family/family_keys.h"
#include "model/family/family_list.h"
#include "torch/ops/ops.h"

/* clang-format off */
static const ms_key keys[] = {
    COUNT("vocab_size", vocab_size, 50368, MAX_VOCAB),
    COUNT("hidden_size", hidden_size, 768, MAX_HIDDEN),
    COUNT("intermediate_size", intermediate_size, 1152, MAX_INTERMEDIATE),
    COUNT("num_hidden_layers", num_layers, 22, MAX_LAYERS),
    COUNT("num_attention_heads", num_heads, 12, MAX_HEADS),
    COUNT("max_position_embeddings", max_positions, 8192, MAX_POSITIONS),
    COUNT("local_attention", local_attention, 128, MAX_POSITIONS),
    COUNT("global_attn_every_n_layers", sliding_pattern, 3, MAX_LAYERS),
    LAYER_TYPES,
    ACTIVATION("hidden_activation", MS_ACTIVATION_GELU),
    { .name = "classifier_activation", .kind = MS_KEY_ACTIVATION, .offset = MEMBER(head_activation),
      .default_value = MS_ACTIVATION_GELU },
    BOOL("norm_bias", norm_bias, false),
    BOOL("attention_bias", attention_bias, false),
    BOOL("mlp_bias", mlp_bias, false),
    BOOL("decoder_bias", output_bias, true),
    BOOL("classifier_bias", head_bias, false),
    CHOICE("classifier_pooling", pools_mean, "cls", "mean"),
    FRACTION("embedding_dropout", embedding_dropout, 0),
    FRACTION("attention_dropout", attention_dropout, 0),
    FRACTION("mlp_dropout", residual_dropout, 0),
    FRACTION("classifier_dropout", classifier_dropout, 0),
    BOOL("tie_word_embeddings", tie_word_embeddings, true),
    FIXED("sparse_prediction", false),
    ROPE("rope_scaling"), ROPE("rope_parameters"),
    IGNORED("global_rope_theta"), IGNORED("local_rope_theta"),
    IGNORED("initializer_range"), IGNORED("initializer_cutoff_factor"), IGNORED("norm_eps"),
    IGNORED("layer_norm_eps"), IGNORED("pad_token_id"), IGNORED("bos_token_id"),
    IGNORED("eos_token_id"), IGNORED("cls_token_id"), IGNORED("sep_token_id"),
    IGNORED("deterministic_flash_attn"), IGNORED("sparse_pred_ignore_index"),
    IGNORED("reference_compile"), IGNORED("repad_logits_with_grad"),
    IGNORED("position_embedding_type"), IGNORED("gradient_checkpointing"),
};
/* clang-format on */

/* Half of the window stands on each side of a token. */
static ms_status derive(ms_model_config *config, ms_error *err)
{
    (void)err;
    config->sliding_window = config->local_attention / 2;
    return MS_OK;
}

static uint8_t layer_kind(const ms_model_config *config, uint64_t layer)
{
    return layer % config->sliding_pattern ? MS_LAYER_SLIDES : 0;
}

typedef struct layer {
    uint32_t scope, attention_scope, mlp_scope;
    ms_norm_module attention_norm, mlp_norm;
    ms_linear_module qkv, attention_out, up, down;
} layer;

/* The tables of one kind of layers. */
typedef struct rotary {
    ms_tensor inv_freq, original, cos, sin;
} rotary;

enum { FULL, SLIDING, KINDS };

typedef struct modernbert {
    uint32_t scope, embeddings_scope, rotary_scope, head_scope;
    ms_learned_table words;
    ms_norm_module embeddings_norm, norm, head_norm;
    layer *layers;
    rotary rotary[KINDS];
    ms_tensor mask; /* of layers with a window */
    ms_linear_module dense, decoder, classifier;
} modernbert;

static bool predicts_words(const ms_model *model)
{
    return model->config->head == MS_HEAD_MASKED_LM;
}

static bool has_kind(const ms_model *model, int kind)
{
    return kind == SLIDING ? ms_model_has_layers(model->config, MS_LAYER_SLIDES)
                           : ms_model_has_layers_but(model->config, MS_LAYER_SLIDES);
}

/* ---- construction ---- */

static ms_norm_module norm_new(ms_model *model, uint32_t parent, const char *name)
{
    return ms_layer_norm_new(model, parent, name, model->hidden, model->config->norm_bias);
}

static void build_layer(ms_model *model, modernbert *m, uint32_t parent, uint32_t number)
{
    char name[16];
    snprintf(name, sizeof name, "%u", number);
    const ms_model_config *config = model->config;
    layer *l = &m->layers[number];
    ms_symbols *s = &model->tape->trace->symbols;
    ms_dim hidden = model->hidden, middle = model->intermediate;
    l->scope = ms_scope_add(model->tape, parent, name, number);
    if (number > 0)
        l->attention_norm = norm_new(model, l->scope, "attn_norm");
    uint32_t scope = l->attention_scope = ms_child_scope(model, l->scope, "attn");
    ms_dim three = ms_dim_mul(s, ms_dim_number(s, 3), hidden);
    l->qkv = ms_linear_new(model, scope, "Wqkv", hidden, three, config->attention_bias);
    l->attention_out = ms_linear_new(model, scope, "Wo", hidden, hidden, config->attention_bias);
    l->mlp_norm = norm_new(model, l->scope, "mlp_norm");
    scope = l->mlp_scope = ms_child_scope(model, l->scope, "mlp");
    ms_dim both = ms_dim_mul(s, ms_dim_number(s, 2), middle);
    l->up = ms_linear_new(model, scope, "Wi", hidden, both, config->mlp_bias);
    l->down = ms_linear_new(model, scope, "Wo", middle, hidden, config->mlp_bias);
}

static void build_rotary(ms_model *model, modernbert *m)
{
    ms_tensor inv_freq[KINDS] = {0}, originals[KINDS] = {0};
    uint32_t count = 0;
    for (int kind = 0; kind < KINDS; kind++)
        count += has_kind(model, kind);
    ms_rotary_new(model, m->scope, count, inv_freq, originals);
    m->rotary_scope = model->tape->trace->scopes.count - 1;
    for (int kind = KINDS - 1; kind >= 0; kind--)
        if (has_kind(model, kind) && count-- > 0)
            m->rotary[kind] = (rotary){.inv_freq = inv_freq[count], .original = originals[count]};
}

/* The decoder is made with a weight of its own, which tying drops for the embedding. */
static void build_decoder(ms_model *model, modernbert *m)
{
    ms_tape *tape = model->tape;
    const ms_model_config *config = model->config;
    ms_tensor dropped = 0;
    if (!config->tie_word_embeddings) {
        m->decoder = ms_linear_new(model, MS_NONE, "decoder", model->hidden, model->vocab,
                                   config->output_bias);
        return;
    }
    m->decoder = (ms_linear_module){.scope = ms_child_scope(model, MS_NONE, "decoder"),
                                    .weight = m->words.weight};
    if (!ms_is_made_on_host(model))
        dropped = ms_empty(tape, MS_SHAPE(model->vocab, model->hidden), model->run->dtype);
    if (config->output_bias)
        m->decoder.bias = ms_parameter_new(model, m->decoder.scope, "bias", MS_SHAPE(model->vocab));
    ms_consume(tape, dropped);
    ms_bias_pad(model, m->decoder.bias);
}

static bool build(ms_model *model)
{
    ms_tape *tape = model->tape;
    uint64_t count = model->config->num_layers;
    modernbert *m = ms_arena_array(model->arena, modernbert, 1);
    layer *layers = ms_arena_array(model->arena, layer, count);
    if (!m || !layers)
        return false;
    model->modules = m;
    model->softmax_in_fp32 = true;
    m->layers = layers;
    m->scope = ms_child_scope(model, MS_NONE, "model");
    m->embeddings_scope = ms_child_scope(model, m->scope, "embeddings");
    m->words = ms_learned_table_new(model, m->embeddings_scope, "tok_embeddings", model->vocab);
    m->embeddings_norm = norm_new(model, m->embeddings_scope, "norm");
    uint32_t parent = ms_child_scope(model, m->scope, "layers");
    for (uint32_t i = 0; i < count && tape->status == MS_OK; i++)
        build_layer(model, m, parent, i);
    m->norm = norm_new(model, m->scope, "final_norm");
    build_rotary(model, m);
    m->head_scope = ms_child_scope(model, MS_NONE, "head");
    m->dense = ms_linear_new(model, m->head_scope, "dense", model->hidden, model->hidden,
                             model->config->head_bias);
    m->head_norm = norm_new(model, m->head_scope, "norm");
    if (predicts_words(model))
        build_decoder(model, m);
    else
        m->classifier =
            ms_linear_new(model, MS_NONE, "classifier", model->hidden, model->labels, true);
    return true;
}

/* ---- layers ---- */

static const rotary *rotary_of(const ms_model *model, const modernbert *m, uint64_t number)
{
    return &m->rotary[ms_layer_slides(model->config, number) ? SLIDING : FULL];
}

static ms_tensor mask_of(const ms_model *model, const modernbert *m, uint64_t number)
{
    return ms_layer_slides(model->config, number) ? m->mask : model->mask;
}

static ms_tensor attention(ms_model *model, uint64_t number, ms_tensor x, ms_tensor *weights)
{
    ms_tape *tape = model->tape;
    ms_symbols *s = &tape->trace->symbols;
    const modernbert *m = model->modules;
    const layer *l = &m->layers[number];
    const rotary *r = rotary_of(model, m, number);
    ms_tensor mask = mask_of(model, m, number);
    uint32_t previous = ms_scope_enter(tape, l->attention_scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, x);
    ms_tensor *qkv = ms_local(&f, ms_linear_call(model, &l->qkv, *hidden));
    ms_assign(&f, qkv,
              ms_view(tape, *qkv,
                      MS_SHAPE(model->batch, model->seq, ms_dim_number(s, 3), model->heads,
                               model->head_dim)));
    ms_tensor parts[3], turned[2];
    ms_unbind(tape, *qkv, 2, 3, parts);
    ms_tensor *query = ms_local(&f, parts[0]), *key = ms_local(&f, parts[1]);
    ms_tensor *value = ms_local(&f, parts[2]);
    ms_assign(&f, query, ms_transpose(tape, *query, 1, 2));
    ms_assign(&f, key, ms_transpose(tape, *key, 1, 2));
    ms_assign(&f, value, ms_transpose(tape, *value, 1, 2));
    ms_rotary_whole_wide(model, *query, *key, r->cos, r->sin, turned);
    ms_assign(&f, query, turned[0]);
    ms_assign(&f, key, turned[1]);
    ms_tensor *output =
        ms_attend_merged(model, &f, number, (ms_tensor[]){*query, *key, *value}, mask, weights);
    ms_tensor projected = ms_linear_call(model, &l->attention_out, *output);
    ms_assign(&f, output, ms_dropout(tape, projected, model->config->attention_dropout));
    ms_tensor result = ms_locals_end(&f, output);
    ms_unown(tape, *weights);
    tape->scope = previous;
    return result;
}

/* Wo(dropout(act(input) * gate)) */
static ms_tensor mlp(ms_tape *tape, void *context, uint64_t number, ms_tensor x)
{
    ms_model *model = context;
    const layer *l = &((const modernbert *)model->modules)->layers[number];
    uint32_t previous = ms_scope_enter(tape, l->mlp_scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, x);
    ms_tensor parts[2];
    ms_split(tape, ms_linear_call(model, &l->up, *hidden), 2, model->intermediate, 2, parts);
    ms_tensor *input = ms_local(&f, parts[0]), *gate = ms_local(&f, parts[1]);
    ms_tensor gated = ms_mul(tape, ms_activation_call(model, *input), *gate);
    ms_tensor dropped = ms_dropout(tape, gated, model->config->residual_dropout);
    ms_tensor *out = ms_local(&f, ms_linear_call(model, &l->down, dropped));
    ms_tensor result = ms_locals_end(&f, out);
    tape->scope = previous;
    return result;
}

static ms_tensor run_layer(ms_tape *tape, void *context, uint64_t number, ms_tensor input)
{
    ms_model *model = context;
    const layer *l = &((const modernbert *)model->modules)->layers[number];
    uint32_t previous = ms_scope_enter(tape, l->scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, input);
    ms_tensor weights;
    ms_tensor normed =
        number > 0 ? ms_layer_norm_call(model, &l->attention_norm, *hidden) : *hidden;
    ms_tensor *attended = ms_local(&f, attention(model, number, normed, &weights));
    ms_local(&f, weights);
    ms_assign(&f, hidden, ms_add(tape, *hidden, *attended));
    const ms_region region = {.run = mlp, .context = model, .number = number};
    ms_tensor more = ms_mlp_call(model, &region, ms_layer_norm_call(model, &l->mlp_norm, *hidden));
    ms_assign(&f, hidden, ms_add(tape, *hidden, more));
    ms_tensor result = ms_locals_end(&f, hidden);
    tape->scope = previous;
    return result;
}

/* ---- forward ---- */

static ms_tensor run_embeddings(ms_model *model, const modernbert *m, ms_tensor ids)
{
    ms_tape *tape = model->tape;
    uint32_t previous = ms_scope_enter(tape, m->embeddings_scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor words = ms_input_embedding(model, m->words.scope, m->words.weight, 0, ids);
    ms_tensor normed = ms_layer_norm_call(model, &m->embeddings_norm, words);
    ms_tensor *hidden = ms_local(&f, ms_dropout(tape, normed, model->config->embedding_dropout));
    ms_tensor result = ms_locals_end(&f, hidden);
    tape->scope = previous;
    return result;
}

static void make_rotary(ms_model *model, modernbert *m, ms_locals *f, ms_tensor hidden,
                        ms_tensor position_ids)
{
    ms_tape *tape = model->tape;
    ms_dtype dtype = ms_idle(tape) ? MS_DTYPE_F32 : (ms_dtype)ms_info(tape, hidden)->dtype;
    for (int kind = 0; kind < KINDS; kind++) {
        rotary *r = &m->rotary[kind];
        ms_tensor tables[2] = {0};
        if (!has_kind(model, kind))
            continue;
        ms_rotary_call(model, m->rotary_scope, r->inv_freq, position_ids, dtype, tables);
        r->sin = *ms_local(f, tables[1]); /* a tuple drops its last item first */
        r->cos = *ms_local(f, tables[0]);
    }
}

static ms_tensor run_model(ms_model *model, modernbert *m, ms_tensor ids)
{
    ms_tape *tape = model->tape;
    uint32_t previous = ms_scope_enter(tape, m->scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor range = ms_empty(tape, MS_SHAPE(model->seq), MS_DTYPE_I64);
    ms_tensor *position_ids = ms_local(&f, ms_unsqueeze(tape, range, 0));
    ms_tensor *embedded = ms_local(&f, run_embeddings(model, m, ids)); /* among the masks' too */
    model->mask = *ms_local(&f, ms_padding_mask(model, model->seq, model->seq));
    m->mask = *ms_local(&f, ms_window_mask(model));
    make_rotary(model, m, &f, *embedded, *position_ids);
    ms_tensor *hidden = ms_local(&f, *embedded);
    for (uint32_t i = 0; i < model->config->num_layers && tape->status == MS_OK; i++) {
        const rotary *r = rotary_of(model, m, i);
        ms_tensor mask = mask_of(model, m, i);
        const ms_region region = {
            .run = run_layer, .context = model, .number = i, .held = {mask, r->sin, r->cos}};
        ms_assign(&f, hidden, ms_layer_call(model, &region, *hidden));
    }
    ms_assign(&f, hidden, ms_layer_norm_call(model, &m->norm, *hidden));
    ms_tensor result = ms_locals_end(&f, hidden);
    tape->scope = previous;
    return result;
}

/* norm(act(dense(x))) */
static ms_tensor run_head(ms_model *model, const modernbert *m, ms_tensor x)
{
    ms_tape *tape = model->tape;
    uint32_t previous = ms_scope_enter(tape, m->head_scope);
    ms_tensor dense = ms_linear_call(model, &m->dense, x);
    ms_tensor active = ms_activate(tape, model->config->head_activation, dense);
    ms_tensor out = ms_layer_norm_call(model, &m->head_norm, active);
    tape->scope = previous;
    return out;
}

/* (x * ones).sum(1) / ones.sum(1), or x[:, 0]; binds what it makes. */
static ms_tensor pool(ms_model *model, ms_locals *f, ms_tensor hidden)
{
    ms_tape *tape = model->tape;
    if (!model->config->pools_mean)
        return *ms_local(f, ms_select(tape, hidden, 1));
    ms_shape shape = MS_SHAPE(model->batch, model->seq);
    ms_tensor *mask = ms_local(f, ms_empty(tape, shape, MS_DTYPE_BOOL));
    ms_tensor kept = ms_mul(tape, hidden, ms_unsqueeze(tape, *mask, 2));
    ms_tensor sum = ms_sum_dim(tape, kept, 1, false);
    shape.dims[1] = ms_dim_number(&tape->trace->symbols, 1);
    return *ms_local(f, ms_div(tape, sum, ms_empty(tape, shape, MS_DTYPE_I64)));
}

static ms_tensor classify(ms_model *model, const modernbert *m, ms_locals *f, ms_tensor hidden)
{
    bool of_sequence = model->config->head == MS_HEAD_FIRST_TOKEN;
    ms_tensor x = of_sequence ? pool(model, f, hidden) : hidden;
    ms_tensor *headed = ms_local(f, run_head(model, m, x));
    ms_assign(f, headed, ms_dropout(model->tape, *headed, model->config->classifier_dropout));
    return ms_linear_call(model, &m->classifier, *headed);
}

static void forward(ms_model *model, const ms_model_inputs *in, ms_model_outputs *out)
{
    modernbert *m = model->modules;
    ms_locals f = ms_locals_begin(model->tape);
    ms_tensor *hidden = ms_local(&f, run_model(model, m, in->ids));
    ms_tensor *logits = ms_local(&f, 0);
    if (predicts_words(model))
        ms_assign(&f, logits, ms_linear_call(model, &m->decoder, run_head(model, m, *hidden)));
    else
        ms_assign(&f, logits, classify(model, m, &f, *hidden));
    ms_encoder_end(model, &f, hidden, logits, ms_wide_words_loss, in, out);
}

static const ms_model_program program = {build, forward};

const ms_family ms_family_modernbert = {
    .model_type = "modernbert",
    .classes = {{"ModernBertForMaskedLM", MS_HEAD_MASKED_LM},
                {"ModernBertForSequenceClassification", MS_HEAD_FIRST_TOKEN},
                {"ModernBertForTokenClassification", MS_HEAD_EACH_TOKEN}},
    .keys = keys,
    .key_count = sizeof keys / sizeof *keys,
    .derive = derive,
    .check = ms_check_heads_divide,
    .layer_kind = layer_kind,
    .is_bidirectional = true,
    .program = &program,
    .facts = &(const ms_family_facts){.peft = {.usual_lora = "Wqkv"}}};
