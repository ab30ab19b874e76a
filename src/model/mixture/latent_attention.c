/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/mixture/latent_attention.h"

#include "input/config/model/model_config.h"
#include "model/blocks/cache.h"
#include "model/decoder/decoder_tables.h"
#include "model/mixture/indexer.h"
#include "model/mixture/deepseek.h"
#include "torch/ops/ops.h"

typedef struct latent_attention {
    uint32_t scope;
    ms_linear_module q_proj, q_a_proj, q_b_proj, kv_a_proj, kv_b_proj, o_proj;
    ms_norm_module q_a_norm, kv_a_norm;
    ms_indexer *indexer; /* NULL: none */
} latent_attention;

typedef struct widths {
    ms_dim plain, turned, key, value, query_rank, latent_rank;
} widths;

static widths widths_of(ms_model *model)
{
    ms_symbols *s = &model->tape->trace->symbols;
    const ms_model_config *c = model->config;
    widths w = {.plain = ms_dim_name(s, "Dn", c->plain_key_dim),
                .turned = model->head_dim,
                .value = ms_dim_name(s, "Dv", c->value_dim),
                .query_rank = ms_dim_name(s, "Rq", c->query_rank),
                .latent_rank = ms_dim_name(s, "Rk", c->latent_rank)};
    w.key = ms_dim_add(s, w.plain, w.turned);
    return w;
}

void *ms_latent_attention_new(ms_model *model, const ms_decoder *d, uint32_t parent,
                              uint32_t number)
{
    (void)d, (void)number;
    ms_symbols *s = &model->tape->trace->symbols;
    latent_attention *a = ms_arena_array(model->arena, latent_attention, 1);
    if (!a)
        return NULL;
    widths w = widths_of(model);
    bool bias = model->config->attention_bias;
    ms_dim hidden = model->hidden, query = ms_dim_mul(s, model->heads, w.key);
    uint32_t scope = a->scope = ms_scope_add(model->tape, parent, "self_attn", MS_NONE);
    if (model->config->query_rank == 0) {
        a->q_proj = ms_linear_new(model, scope, "q_proj", hidden, query, false);
    } else {
        a->q_a_proj = ms_linear_new(model, scope, "q_a_proj", hidden, w.query_rank, bias);
        a->q_a_norm = ms_norm_new(model, scope, "q_a_layernorm", w.query_rank, false);
        a->q_b_proj = ms_linear_new(model, scope, "q_b_proj", w.query_rank, query, false);
    }
    a->kv_a_proj = ms_linear_new(model, scope, "kv_a_proj_with_mqa", hidden,
                                 ms_dim_add(s, w.latent_rank, w.turned), bias);
    a->kv_a_norm = ms_norm_new(model, scope, "kv_a_layernorm", w.latent_rank, false);
    a->kv_b_proj =
        ms_linear_new(model, scope, "kv_b_proj", w.latent_rank,
                      ms_dim_mul(s, model->heads, ms_dim_add(s, w.plain, w.value)), false);
    a->o_proj =
        ms_linear_new(model, scope, "o_proj", ms_dim_mul(s, model->heads, w.value), hidden, bias);
    if (model->config->index_heads == 0)
        return a;
    a->indexer = ms_indexer_new(model, scope);
    return a->indexer ? a : NULL;
}

/* ---- forward ---- */

/* *latent: what an indexer reads too, a local of the caller. */
static ms_tensor make_queries(ms_model *model, const latent_attention *a, ms_locals *f,
                              ms_tensor hidden, ms_tensor *latent)
{
    ms_tensor out;
    if (model->config->query_rank == 0) {
        out = ms_linear_call(model, &a->q_proj, hidden);
    } else {
        out = ms_rms_norm_call(model, &a->q_a_norm, ms_linear_call(model, &a->q_a_proj, hidden));
        if (a->indexer) {
            ms_assign(f, latent, out);
            out = *latent;
        }
        out = ms_linear_call(model, &a->q_b_proj, out);
    }
    return out;
}

/* expand_kv: key and value states of all heads; the arguments are the caller's locals. */
static void expand(ms_model *model, const latent_attention *a, const widths *w, ms_tensor latent,
                   ms_tensor turned, ms_tensor out[2])
{
    ms_tape *tape = model->tape;
    ms_symbols *s = &tape->trace->symbols;
    ms_dim seq = ms_idle(tape) ? model->seq : ms_info(tape, latent)->shape.dims[2];
    ms_shape heads = MS_SHAPE(model->batch, seq, model->heads, ms_dim_add(s, w->plain, w->value));
    ms_tensor parts[2];
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *both =
        ms_local(&f, ms_view(tape, ms_linear_call(model, &a->kv_b_proj, latent), heads));
    ms_assign(&f, both, ms_transpose(tape, *both, 1, 2));
    ms_dtype dtype = ms_idle(tape) ? MS_DTYPE_F32 : (ms_dtype)ms_info(tape, *both)->dtype;
    ms_split_at(tape, *both, w->plain, parts);
    ms_tensor *plain = ms_local(&f, parts[0]);
    ms_tensor *value = ms_local(&f, parts[1]);
    ms_tensor *shared =
        ms_local(&f, ms_expand(tape, turned, MS_SHAPE(model->batch, model->heads, seq, w->turned)));
    ms_shape shape = MS_SHAPE(model->batch, model->heads, seq, w->key);
    ms_tensor *key = ms_local(&f, ms_idle(tape) ? 0 : ms_empty(tape, shape, dtype));
    ms_assign(&f, key, ms_copy_into(tape, *key, *plain));
    ms_assign(&f, key, ms_copy_into(tape, *key, *shared));
    ms_return_both(&f, *key, *value, out);
}

ms_tensor ms_latent_attention(ms_model *model, ms_decoder *d, const ms_decoder_layer *layer,
                              ms_tensor x, ms_tensor *weights)
{
    ms_tape *tape = model->tape;
    const latent_attention *a = layer->attention;
    const widths w = widths_of(model);
    ms_dim batch = model->batch, seq = model->seq, one = ms_dim_number(&tape->trace->symbols, 1);
    ms_tensor pair[2];
    uint32_t previous = ms_scope_enter(tape, a->scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, x);
    ms_tensor *own_mask = ms_local(&f, 0), *q_latent = ms_local(&f, 0);
    ms_tensor *query = ms_local(&f, make_queries(model, a, &f, *hidden, q_latent));
    ms_assign(
        &f, query,
        ms_transpose(tape, ms_view(tape, *query, MS_SHAPE(batch, seq, model->heads, w.key)), 1, 2));
    ms_split_at(tape, *query, w.plain, pair);
    ms_tensor *q_plain = ms_local(&f, pair[0]), *q_turned = ms_local(&f, pair[1]);
    ms_tensor *compressed = ms_local(&f, ms_linear_call(model, &a->kv_a_proj, *hidden));
    ms_split_at(tape, *compressed, w.latent_rank, pair);
    ms_tensor *latent = ms_local(&f, pair[0]), *k_turned = ms_local(&f, pair[1]);
    ms_tensor *normed = ms_local(&f, ms_view(tape, ms_rms_norm_call(model, &a->kv_a_norm, *latent),
                                             MS_SHAPE(batch, one, seq, w.latent_rank)));
    ms_assign(&f, k_turned, ms_view(tape, *k_turned, MS_SHAPE(batch, one, seq, w.turned)));
    const ms_rotary *rotary = ms_decoder_rotary(model, d, layer->number);
    d->style.rotary(model, *q_turned, *k_turned, rotary->cos, rotary->sin, pair);
    ms_assign(&f, q_turned, pair[0]);
    ms_assign(&f, k_turned, pair[1]);
    ms_cache_append(model, &f, layer->number, normed, k_turned);
    ms_tensor *queries = ms_local(&f, ms_cat2(tape, *q_plain, *q_turned, 3));
    expand(model, a, &w, *normed, *k_turned, pair);
    ms_tensor *keys = ms_local(&f, pair[0]), *values = ms_local(&f, pair[1]);
    ms_tensor mask = ms_decoder_mask(model, d, layer->number);
    if (a->indexer) {
        const ms_index_inputs in = {*hidden, *q_latent, mask, rotary->cos, rotary->sin};
        ms_indexer_mask(model, a->indexer, &in, &f, own_mask);
        mask = *own_mask;
    }
    ms_tensor *output = ms_local(
        &f, ms_attention_call(model, layer->number, *queries, *keys, *values, mask, weights));
    ms_retain(tape, *weights);
    ms_dim width = ms_dim_mul(&tape->trace->symbols, model->heads, w.value);
    ms_assign(&f, output, ms_reshape(tape, *output, MS_SHAPE(batch, seq, width)));
    ms_assign(&f, output, ms_linear_call(model, &a->o_proj, *output));
    ms_tensor result = ms_locals_end(&f, output);
    ms_unown(tape, *weights);
    tape->scope = previous;
    return result;
}
