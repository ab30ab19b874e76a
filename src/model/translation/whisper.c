/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Whisper: two convolutions over the frames of a sound, an encoder of as many positions as the
 * config says, and a decoder of the tokens of its text, which are the labels shifted by one.
 */
#include <stdio.h>

#include "input/config/model/family.h"
#include "input/config/model/model_config.h"
#include "model/blocks/attention/masks.h"
#include "model/blocks/cache.h"
#include "model/encoder/encoder.h"
#include "model/family/family_keys.h"
#include "model/family/family_list.h"
#include "model/translation/translation.h"
#include "torch/autograd/graph.h"
#include "torch/ops/convolution/convolution.h"
#include "torch/ops/moe/rows.h"
#include "torch/ops/ops.h"

/* ---- whisper layers ---- */

/* Whisper's modules, and its layers. */

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

/* What attention is given. */
typedef struct call {
    const ms_whisper_attention *attention;
    uint64_t layer;
    bool decodes;
    ms_dim queries, keys; /* of the pass; of the source */
    ms_tensor source;     /* the encoder's result; 0: the own tokens */
    ms_tensor mask;       /* 0: none */
    bool is_causal;
} call;

/* x.view(..).transpose(1, 2).contiguous() */
static ms_tensor heads_of(ms_model *model, ms_tensor x, ms_dim tokens)
{
    ms_tape *tape = model->tape;
    ms_shape shape = MS_SHAPE(model->batch, tokens, model->heads, model->head_dim);
    return ms_contiguous(tape, ms_transpose(tape, ms_view(tape, x, shape), 1, 2));
}

static ms_tensor fused(ms_model *model, const call *c, const ms_tensor x[3])
{
    ms_tape *tape = model->tape;
    double dropout = model->config->attention_dropout;
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *out = ms_local(
        &f, c->is_causal ? ms_sdpa(tape, model->attention, x[0], x[1], x[2], 0, dropout)
                         : ms_sdpa_both_ways(tape, model->attention, x[0], x[1], x[2], dropout));
    ms_assign(&f, out, ms_contiguous(tape, ms_transpose(tape, *out, 1, 2)));
    return ms_locals_end(&f, out);
}

/* *weights: the probabilities, retained. */
static ms_tensor eager(ms_model *model, const call *c, const ms_tensor x[3], ms_tensor *weights)
{
    ms_tape *tape = model->tape;
    ms_locals f = ms_locals_begin(tape);
    ms_tensor product = ms_matmul(tape, x[0], ms_transpose(tape, x[1], 2, 3));
    ms_tensor *scores = ms_local(&f, ms_mul_scalar(tape, product));
    if (c->mask)
        ms_assign(&f, scores, ms_add(tape, *scores, c->mask));
    ms_dtype dtype = ms_idle(tape) ? MS_DTYPE_F32 : (ms_dtype)ms_info(tape, *scores)->dtype;
    ms_assign(&f, scores, ms_softmax_last(tape, *scores, dtype));
    ms_assign(&f, scores, ms_dropout(tape, *scores, model->config->attention_dropout));
    ms_tensor *out = ms_local(&f, ms_matmul(tape, *scores, x[2]));
    ms_assign(&f, out, ms_contiguous(tape, ms_transpose(tape, *out, 1, 2)));
    *weights = tape->stopped ? 0 : *scores;
    ms_retain(tape, *weights);
    return ms_locals_end(&f, out);
}

/* Keys and values of `current`, and those that the cache has: *key and *value are locals. */
static void look_up(ms_model *model, const call *c, ms_locals *f, ms_tensor current, ms_tensor *key,
                    ms_tensor *value)
{
    const ms_whisper_attention *a = c->attention;
    if (c->source && ms_cache_has_cross(model, f, c->layer, key, value))
        return;
    ms_assign(f, key, heads_of(model, ms_linear_call(model, &a->k, current), c->keys));
    ms_assign(f, value, heads_of(model, ms_linear_call(model, &a->v, current), c->keys));
    if (c->source)
        ms_cache_keep_cross(model, f, c->layer, key, value);
    else if (c->decodes)
        ms_cache_append(model, f, c->layer, key, value);
}

static ms_tensor attend(ms_model *model, const call *c, ms_tensor x, ms_tensor *weights)
{
    ms_tape *tape = model->tape;
    const ms_whisper_attention *a = c->attention;
    uint32_t previous = ms_scope_enter(tape, a->scope);
    ms_locals f = ms_locals_begin(tape);
    *weights = 0;
    ms_tensor *hidden = ms_argument(&f, x);
    ms_tensor scaled = ms_mul_scalar(tape, ms_linear_call(model, &a->q, *hidden));
    ms_tensor *query = ms_local(&f, heads_of(model, scaled, c->queries));
    ms_tensor current = c->source ? c->source : *hidden;
    ms_tensor *key = ms_local(&f, 0), *value = ms_local(&f, 0);
    look_up(model, c, &f, current, key, value);
    const ms_tensor q_k_v[] = {*query, *key, *value};
    bool is_eager = model->attention == MS_ATTENTION_EAGER;
    ms_tensor *out = ms_local(&f, ms_idle(tape) ? 0
                                  : is_eager    ? eager(model, c, q_k_v, weights)
                                                : fused(model, c, q_k_v));
    ms_shape merged = MS_SHAPE(model->batch, c->queries, model->hidden);
    ms_assign(&f, out, ms_contiguous(tape, ms_reshape(tape, *out, merged)));
    ms_assign(&f, out, ms_linear_call(model, &a->out, *out));
    ms_tensor result = ms_locals_end(&f, out);
    tape->scope = previous;
    return result;
}

/* residual + dropout(attention(norm(hidden))), in the layer's locals; `last` is the one that takes
 * the probabilities. */
static void attention_part(ms_model *model, const call *c, ms_locals *f, ms_tensor *hidden,
                           ms_tensor *residual, ms_tensor *last)
{
    ms_tape *tape = model->tape;
    ms_tensor weights;
    ms_assign(f, residual, *hidden);
    ms_assign(f, hidden, ms_layer_norm_call(model, &c->attention->norm, *hidden));
    ms_assign(f, hidden, attend(model, c, *hidden, &weights));
    ms_assign(f, last, weights);
    ms_release(tape, weights);
    ms_assign(f, hidden, ms_dropout(tape, *hidden, model->config->residual_dropout));
    ms_assign(f, hidden, ms_add(tape, *residual, *hidden));
}

static void mlp_part(ms_model *model, const ms_whisper_layer *l, ms_locals *f, ms_tensor *hidden,
                     ms_tensor *residual)
{
    ms_tape *tape = model->tape;
    ms_assign(f, residual, *hidden);
    ms_assign(f, hidden, ms_layer_norm_call(model, &l->final_norm, *hidden));
    ms_assign(f, hidden, ms_activation_call(model, ms_linear_call(model, &l->fc1, *hidden)));
    ms_assign(f, hidden, ms_dropout(tape, *hidden, model->config->activation_dropout));
    ms_assign(f, hidden, ms_linear_call(model, &l->fc2, *hidden));
    ms_assign(f, hidden, ms_dropout(tape, *hidden, model->config->residual_dropout));
    ms_assign(f, hidden, ms_add(tape, *residual, *hidden));
}

/* The encoder's layers keep fp16 finite. */
static void clamp(ms_tape *tape, ms_locals *f, ms_tensor *hidden)
{
    enum { BOTH = 2 };
    if (!ms_idle(tape) && ms_info(tape, *hidden)->dtype == MS_DTYPE_F16)
        ms_assign(f, hidden, ms_clamp(tape, *hidden, BOTH));
}

static ms_tensor run_layer(ms_tape *tape, void *context, uint64_t number, ms_tensor input)
{
    ms_model *model = context;
    const ms_whisper *w = model->modules;
    const ms_whisper_layer *l = &w->layers[number];
    bool decodes = number >= w->encoder_layers;
    ms_dim tokens = decodes ? model->seq : model->source;
    const call self = {.attention = &l->self,
                       .layer = number,
                       .decodes = decodes,
                       .queries = tokens,
                       .keys = tokens,
                       .mask = decodes ? w->mask : 0,
                       .is_causal = decodes && tokens.value > 1};
    const call cross = {.attention = &l->cross,
                        .layer = number,
                        .decodes = true,
                        .queries = tokens,
                        .keys = model->source,
                        .source = w->encoded};
    uint32_t previous = ms_scope_enter(tape, l->scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, input);
    ms_tensor *residual = ms_local(&f, 0), *last = ms_local(&f, 0);
    attention_part(model, &self, &f, hidden, residual, last);
    if (decodes)
        attention_part(model, &cross, &f, hidden, residual, last);
    mlp_part(model, l, &f, hidden, residual);
    if (!decodes)
        clamp(tape, &f, hidden);
    ms_tensor result = ms_locals_end(&f, hidden);
    tape->scope = previous;
    return result;
}

/* Runs `count` layers from the number `first` on *hidden, a local of `f`. */
static void whisper_run_layers(ms_model *model, uint32_t first, uint32_t count, ms_locals *f,
                               ms_tensor *hidden)
{
    const ms_whisper *w = model->modules;
    for (uint32_t i = first; i < first + count && model->tape->status == MS_OK; i++) {
        ms_region region = {.run = run_layer, .context = model, .number = i, .saves_held = true};
        if (i >= w->encoder_layers) {
            region.held[0] = w->mask;
            region.held[1] = w->encoded;
        }
        ms_assign(f, hidden, ms_layer_call(model, &region, *hidden));
    }
}

/* ---- whisper ---- */

/* clang-format off */
static const ms_key keys[] = {
    COUNT("vocab_size", vocab_size, 51865, MAX_VOCAB),
    COUNT("num_mel_bins", mel_bins, 80, MAX_HIDDEN),
    COUNT_AS("d_model", "hidden_size", hidden_size, 384, MAX_HIDDEN),
    COUNT_AS("encoder_layers", "num_hidden_layers", encoder_layers, 4, MAX_LAYERS / 2),
    COUNT("decoder_layers", decoder_layers, 4, MAX_LAYERS / 2),
    COUNT_AS("encoder_attention_heads", "num_attention_heads", num_heads, 6, MAX_HEADS),
    { .name = "decoder_attention_heads", .kind = MS_KEY_COUNT, .offset = MEMBER(num_kv_heads),
      .default_value = 6, .minimum = 1, .maximum = MAX_HEADS },
    COUNT("encoder_ffn_dim", encoder_intermediate, 1536, MAX_INTERMEDIATE),
    COUNT("decoder_ffn_dim", intermediate_size, 1536, MAX_INTERMEDIATE),
    COUNT("max_source_positions", source_positions, 1500, MAX_POSITIONS / 2),
    { .name = "max_target_positions", .kind = MS_KEY_COUNT, .offset = MEMBER(max_positions),
      .default_value = 448, .minimum = 2, .maximum = MAX_POSITIONS, .learned = true },
    ACTIVATION("activation_function", MS_ACTIVATION_GELU),
    FRACTION("dropout", residual_dropout, 0),
    FRACTION("attention_dropout", attention_dropout, 0),
    FRACTION("activation_dropout", activation_dropout, 0),
    FRACTION("encoder_layerdrop", layer_drop, 0),
    FRACTION("decoder_layerdrop", decoder_layer_drop, 0),
    BOOL("is_encoder_decoder", is_encoder_decoder, true),
    BOOL("tie_word_embeddings", tie_word_embeddings, true),
    FIXED("apply_spec_augment", false),
    IGNORED("scale_embedding"), IGNORED("init_std"), IGNORED("use_cache"),
    IGNORED("decoder_start_token_id"), IGNORED("pad_token_id"), IGNORED("bos_token_id"),
    IGNORED("eos_token_id"), IGNORED("suppress_tokens"), IGNORED("begin_suppress_tokens"),
    IGNORED("forced_decoder_ids"), IGNORED("max_length"), IGNORED("use_weighted_layer_sum"),
    IGNORED("classifier_proj_size"), IGNORED("median_filter_width"), IGNORED("mask_time_prob"),
    IGNORED("mask_time_length"), IGNORED("mask_time_min_masks"), IGNORED("mask_feature_prob"),
    IGNORED("mask_feature_length"), IGNORED("mask_feature_min_masks"),
    IGNORED("gradient_checkpointing"),
};

/* clang-format on */

static ms_status derive(ms_model_config *config, ms_error *err)
{
    (void)err;
    config->num_layers = config->encoder_layers + config->decoder_layers;
    return MS_OK;
}

static ms_status fail(ms_error *err, const char *key, const char *text)
{
    snprintf(err->pointer, sizeof err->pointer, "/%s", key);
    return ms_fail(err, MS_ERR_CONFIG, "%s", text);
}

static ms_status check(const ms_model_config *config, ms_error *err)
{
    if (!config->is_encoder_decoder)
        return fail(err, "is_encoder_decoder", "false: Whisper's decoder alone is not supported");
    if (config->num_kv_heads != config->num_heads)
        return fail(err, "decoder_attention_heads",
                    "another number of heads than the encoder's is not supported");
    if (config->layer_drop > 0)
        return fail(err, "encoder_layerdrop",
                    "layers that are skipped at random are not supported");
    if (config->decoder_layer_drop > 0)
        return fail(err, "decoder_layerdrop",
                    "layers that are skipped at random are not supported");
    return ms_check_heads_divide(config, err);
}

/* ---- construction ---- */

static ms_whisper_attention new_attention(ms_model *model, uint32_t parent, const char *name)
{
    ms_dim hidden = model->hidden;
    ms_whisper_attention a = {.scope = ms_child_scope(model, parent, name)};
    a.k = ms_linear_new(model, a.scope, "k_proj", hidden, hidden, false);
    a.v = ms_linear_new(model, a.scope, "v_proj", hidden, hidden, true);
    a.q = ms_linear_new(model, a.scope, "q_proj", hidden, hidden, true);
    a.out = ms_linear_new(model, a.scope, "out_proj", hidden, hidden, true);
    return a;
}

static ms_norm_module new_norm(ms_model *model, uint32_t parent, const char *name)
{
    return ms_layer_norm_new(model, parent, name, model->hidden, true);
}

static void build_layer(ms_model *model, ms_whisper *w, uint32_t parent, uint32_t number)
{
    char name[16];
    bool decodes = number >= w->encoder_layers;
    ms_dim middle = decodes ? model->intermediate
                            : ms_dim_name(&model->tape->trace->symbols, "Ie",
                                          model->config->encoder_intermediate);
    snprintf(name, sizeof name, "%u", decodes ? number - w->encoder_layers : number);
    ms_whisper_layer *l = &w->layers[number];
    l->scope = ms_scope_add(model->tape, parent, name, number);
    l->self = new_attention(model, l->scope, "self_attn");
    l->self.norm = new_norm(model, l->scope, "self_attn_layer_norm");
    if (decodes) {
        l->cross = new_attention(model, l->scope, "encoder_attn");
        l->cross.norm = new_norm(model, l->scope, "encoder_attn_layer_norm");
    }
    l->fc1 = ms_linear_new(model, l->scope, "fc1", model->hidden, middle, true);
    l->fc2 = ms_linear_new(model, l->scope, "fc2", middle, model->hidden, true);
    l->final_norm = new_norm(model, l->scope, "final_layer_norm");
}

static ms_whisper_convolution new_convolution(ms_model *model, uint32_t parent, const char *name,
                                              ms_dim channels)
{
    ms_dim width = ms_dim_number(&model->tape->trace->symbols, 3);
    ms_whisper_convolution c = {.scope = ms_child_scope(model, parent, name)};
    c.weight = ms_parameter_new(model, c.scope, "weight", MS_SHAPE(model->hidden, channels, width));
    c.bias = ms_parameter_new(model, c.scope, "bias", MS_SHAPE(model->hidden));
    return c;
}

/* sinusoids(positions, width), copied into the table: arange, its exponent, the angles of all
 * positions, their sines and cosines, joined. */
static void make_sines(ms_model *model)
{
    ms_tape *tape = model->tape;
    ms_dtype dtype = model->run->dtype;
    ms_dim half = ms_dim_half(&tape->trace->symbols, model->hidden);
    ms_shape angles = MS_SHAPE(model->source, half);
    if (ms_is_made_on_host(model))
        return;
    ms_tensor range = ms_empty(tape, MS_SHAPE(half), MS_DTYPE_I64);
    ms_tensor scaled = ms_empty(tape, MS_SHAPE(half), dtype);
    ms_consume(tape, range);
    ms_tensor scales = ms_empty(tape, MS_SHAPE(half), dtype);
    ms_consume(tape, scaled);
    ms_tensor places = ms_empty(tape, MS_SHAPE(model->source), MS_DTYPE_I64);
    ms_tensor times = ms_empty(tape, angles, dtype);
    ms_consume(tape, places);
    ms_tensor sin = ms_empty(tape, angles, dtype), cos = ms_empty(tape, angles, dtype);
    ms_tensor table = ms_empty(tape, MS_SHAPE(model->source, model->hidden), dtype);
    const ms_tensor last_first[] = {cos, sin, scales, times, table};
    for (size_t i = 0; i < sizeof last_first / sizeof *last_first; i++)
        ms_consume(tape, last_first[i]);
}

static void build_encoder(ms_model *model, ms_whisper *w, uint32_t parent)
{
    ms_symbols *s = &model->tape->trace->symbols;
    uint32_t scope = w->encoder_scope = ms_child_scope(model, parent, "encoder");
    w->conv1 = new_convolution(model, scope, "conv1", ms_dim_name(s, "M", model->config->mel_bins));
    w->conv2 = new_convolution(model, scope, "conv2", model->hidden);
    w->places.scope = ms_child_scope(model, scope, "embed_positions");
    w->places.weight =
        ms_frozen_parameter_of(model, w->places.scope, "weight",
                               MS_SHAPE(model->source, model->hidden), model->run->dtype);
    uint32_t layers = ms_child_scope(model, scope, "layers");
    for (uint32_t i = 0; i < w->encoder_layers && model->tape->status == MS_OK; i++)
        build_layer(model, w, layers, i);
    w->encoder_norm = new_norm(model, scope, "layer_norm");
    make_sines(model);
}

static void build_decoder(ms_model *model, ms_whisper *w, uint32_t parent)
{
    ms_symbols *s = &model->tape->trace->symbols;
    uint32_t scope = w->decoder_scope = ms_child_scope(model, parent, "decoder");
    w->words = ms_learned_table_new(model, scope, "embed_tokens", model->vocab);
    w->positions = ms_learned_table_new(model, scope, "embed_positions",
                                        ms_dim_name(s, "P", model->config->max_positions));
    uint32_t layers = ms_child_scope(model, scope, "layers");
    for (uint32_t i = 0; i < w->decoder_layers && model->tape->status == MS_OK; i++)
        build_layer(model, w, layers, w->encoder_layers + i);
    w->decoder_norm = new_norm(model, scope, "layer_norm");
}

/* The encoder alone. */
static ms_tensor encode_sound(ms_model *model, ms_tensor features);

static bool build(ms_model *model)
{
    ms_whisper *w = ms_arena_array(model->arena, ms_whisper, 1);
    ms_whisper_layer *layers =
        ms_arena_array(model->arena, ms_whisper_layer, model->config->num_layers);
    if (!w || !layers)
        return false;
    model->modules = w;
    model->encode = encode_sound;
    w->layers = layers;
    w->encoder_layers = ms_translation_layers(model, 0);
    w->decoder_layers = ms_translation_layers(model, MS_LAYER_DECODES);
    uint32_t scope = ms_child_scope(model, MS_NONE, "model");
    build_encoder(model, w, scope);
    build_decoder(model, w, scope);
    w->head = ms_head_named(model, w->words.weight, "proj_out");
    return true;
}

/* ---- forward ---- */

/* With an adapter and checkpoints: enable_input_require_grads() takes the first convolution for an
 * embedding of the input. */
static bool requires_input_grads(const ms_model *model)
{
    for (uint64_t i = 0; model->run->adapter && i < model->config->num_layers; i++)
        if (model->run->treatments.layers[i].kind == MS_TREAT_CHECKPOINT)
            return true;
    return false;
}

/* gelu(convolution(x)) */
static ms_tensor convolve(ms_model *model, const ms_whisper_convolution *c, ms_tensor x, ms_dim out,
                          bool is_input)
{
    ms_tape *tape = model->tape;
    uint32_t previous = ms_scope_enter(tape, c->scope);
    ms_tensor made = ms_convolve(tape, x, c->weight, c->bias, out);
    if (is_input && requires_input_grads(model))
        ms_require_grad(tape, made);
    tape->scope = previous;
    return ms_gelu(tape, made);
}

static ms_tensor encode(ms_model *model, ms_whisper *w, ms_tensor features)
{
    ms_tape *tape = model->tape;
    ms_dim frames =
        ms_dim_mul(&tape->trace->symbols, ms_dim_number(&tape->trace->symbols, 2), model->source);
    uint32_t previous = ms_scope_enter(tape, w->encoder_scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *embeds = ms_local(&f, convolve(model, &w->conv1, features, frames, true));
    ms_assign(&f, embeds, convolve(model, &w->conv2, *embeds, model->source, false));
    ms_assign(&f, embeds, ms_transpose(tape, *embeds, 1, 2));
    ms_tensor *places = ms_local(&f, ms_empty(tape, MS_SHAPE(model->source), MS_DTYPE_I64));
    ms_tensor *hidden =
        ms_local(&f, ms_add(tape, *embeds, ms_learned_table_call(model, &w->places, *places)));
    ms_assign(&f, hidden, ms_dropout(tape, *hidden, model->config->residual_dropout));
    whisper_run_layers(model, 0, w->encoder_layers, &f, hidden);
    ms_assign(&f, hidden, ms_layer_norm_call(model, &w->encoder_norm, *hidden));
    ms_tensor result = ms_locals_end(&f, hidden);
    tape->scope = previous;
    return result;
}

/* (arange(S) + 0).unsqueeze(0).repeat(B, 1), bound; the sum stays, the repetition takes its place.
 */
static ms_tensor *position_ids_of(ms_model *model, ms_locals *f)
{
    ms_tape *tape = model->tape;
    ms_tensor *ids =
        ms_local(f, ms_add_scalar(tape, ms_empty(tape, MS_SHAPE(model->seq), MS_DTYPE_I64)));
    ms_assign(f, ids, ms_empty(tape, MS_SHAPE(model->batch, model->seq), MS_DTYPE_I64));
    return ids;
}

/* weight[position_ids]: [B, S, H] */
static ms_tensor positions_at(ms_model *model, const ms_whisper *w, ms_tensor ids)
{
    ms_tape *tape = model->tape;
    ms_dim tokens = ms_dim_mul(&tape->trace->symbols, model->batch, model->seq);
    uint32_t previous = ms_scope_enter(tape, w->positions.scope);
    ms_tensor rows = ms_index_rows(tape, w->positions.weight, ms_view(tape, ids, MS_SHAPE(tokens)));
    tape->scope = previous;
    return ms_view(tape, rows, MS_SHAPE(model->batch, model->seq, model->hidden));
}

static ms_tensor decode(ms_model *model, ms_whisper *w, ms_tensor ids)
{
    ms_tape *tape = model->tape;
    uint32_t previous = ms_scope_enter(tape, w->decoder_scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *embeds =
        ms_local(&f, ms_input_embedding(model, w->words.scope, w->words.weight, 0, ids));
    ms_tensor *position_ids = position_ids_of(model, &f);
    ms_tensor *positions = ms_local(&f, positions_at(model, w, *position_ids));
    ms_tensor *hidden = ms_local(&f, ms_add(tape, *embeds, *positions));
    ms_assign(&f, hidden, ms_dropout(tape, *hidden, model->config->residual_dropout));
    ms_tensor *mask = ms_local(&f, ms_causal_mask(model, *position_ids, false));
    w->mask = *mask;
    whisper_run_layers(model, w->encoder_layers, w->decoder_layers, &f, hidden);
    ms_assign(&f, hidden, ms_layer_norm_call(model, &w->decoder_norm, *hidden));
    ms_tensor result = ms_locals_end(&f, hidden);
    tape->scope = previous;
    return result;
}

static ms_tensor encode_sound(ms_model *model, ms_tensor features)
{
    ms_tensor encoded = encode(model, model->modules, features);
    ms_retain(model->tape, encoded);
    return encoded;
}

static void forward(ms_model *model, const ms_model_inputs *in, ms_model_outputs *out)
{
    ms_whisper *w = model->modules;
    ms_locals f = ms_locals_begin(model->tape);
    ms_tensor *ids = ms_local(&f, in->encoded ? in->ids : ms_shifted_labels(model));
    ms_tensor *encoded = ms_local(&f, in->encoded ? in->encoded : encode(model, w, in->ids));
    w->encoded = *encoded;
    ms_tensor *hidden = ms_local(&f, decode(model, w, *ids));
    ms_translation_end(model, &f, &w->head, hidden, in, out);
}

static const ms_model_program program = {build, forward};

const ms_family ms_family_whisper = {
    .model_type = "whisper",
    .classes = {{"WhisperForConditionalGeneration", MS_HEAD_TARGET_LM}},
    .keys = keys,
    .key_count = sizeof keys / sizeof *keys,
    .derive = derive,
    .check = check,
    .layer_kind = ms_translation_kind,
    .has_no_mlp_module = true,
    .unpredicted = MS_UNPREDICTED_DOCUMENTS | MS_UNPREDICTED_HOST_PARAMETERS |
                   MS_UNPREDICTED_PACKED | MS_UNPREDICTED_REENTRANT | MS_UNPREDICTED_F16_STEPS |
                   MS_UNPREDICTED_FSDP1,
    .program = &program};
