/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Whisper's layers: norms before attention and MLP; the decoder's also attend to the encoder's
 * positions.
 */
#include "model/translation/whisper_layers.h"
#include "input/config/model/model_config.h"
#include "model/blocks/cache.h"
#include "torch/ops/ops.h"

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

void ms_whisper_run_layers(ms_model *model, uint32_t first, uint32_t count, ms_locals *f,
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
