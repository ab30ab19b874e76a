/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/dense/falcon/falcon_attention.h"

#include "model/blocks/cache.h"
#include "model/dense/falcon/falcon.h"

#include "input/config/model/model_config.h"
#include "torch/ops/moe/experts.h"
#include "torch/ops/moe/rows.h"
#include "torch/ops/ops.h"

/* x @ weight.T, and the bias added by an operator of its own. Of a view autocast keeps no cast. */
static ms_tensor times_transposed(ms_tape *tape, ms_tensor x, ms_tensor weight, ms_tensor bias)
{
    if (ms_idle(tape)) {
        ms_consume(tape, x);
        return 0;
    }
    ms_tensor out = ms_linear(tape, x, ms_view(tape, weight, ms_info(tape, weight)->shape), 0);
    if (!bias)
        return out;
    ms_retain(tape, out);
    ms_tensor sum = ms_add(tape, out, bias);
    ms_release(tape, out);
    return sum;
}

ms_tensor ms_falcon_linear(ms_model *model, const ms_linear_module *module, ms_tensor x)
{
    return ms_linear_call_by(model, module, x, times_transposed);
}

static void retain3(ms_tape *tape, const ms_tensor parts[3])
{
    for (uint32_t i = 0; i < 3; i++)
        ms_retain(tape, parts[i]);
}

/* Keys and values of each group, repeated for its queries: all three become copies. */
static void split_groups(ms_model *model, ms_tensor fused, ms_tensor out[3])
{
    ms_tape *tape = model->tape;
    ms_symbols *s = &tape->trace->symbols;
    uint64_t queries = model->heads.value / model->kv_heads.value;
    ms_dim in_group = ms_dim_number(s, queries), with_kv = ms_dim_number(s, queries + 2);
    ms_dim b = model->batch, n = model->seq, d = model->head_dim;
    ms_locals f = ms_locals_begin(tape);
    ms_shape groups = MS_SHAPE(b, n, model->kv_heads, with_kv, d);
    ms_shape wide = MS_SHAPE(b, n, model->kv_heads, in_group, d);
    ms_tensor *qkv = ms_local(&f, ms_view(tape, fused, groups));
    ms_tensor *query = ms_local(&f, ms_narrow(tape, *qkv, 3, in_group));
    ms_tensor *key = ms_local(&f, ms_index_one(tape, *qkv, 3));
    ms_tensor *value = ms_local(&f, ms_index_one(tape, *qkv, 3));
    ms_assign(&f, key, ms_expand(tape, *key, wide));
    ms_assign(&f, value, ms_expand(tape, *value, wide));
    ms_shape flat = MS_SHAPE(b, n, model->heads, d);
    out[0] = ms_reshape(tape, *query, flat);
    out[1] = ms_reshape(tape, *key, flat);
    out[2] = ms_reshape(tape, *value, flat);
    retain3(tape, out);
    ms_assign(&f, query, 0);
    ms_assign(&f, key, 0);
    ms_assign(&f, value, 0);
    ms_locals_end(&f, NULL);
}

/* Yields query, key and value as [B, S, heads, D], retained. */
static void split_heads(ms_model *model, ms_tensor fused, ms_tensor out[3])
{
    ms_tape *tape = model->tape;
    ms_symbols *s = &tape->trace->symbols;
    if (model->config->groups_kv) {
        split_groups(model, fused, out);
        return;
    }
    ms_dim b = model->batch, n = model->seq, h = model->heads, d = model->head_dim;
    if (!model->config->shares_kv) {
        ms_tensor qkv = ms_view(tape, fused, MS_SHAPE(b, n, h, ms_dim_number(s, 3), d));
        ms_retain(tape, qkv);
        for (uint32_t i = 0; i < 3; i++)
            out[i] = ms_select(tape, qkv, 3);
        retain3(tape, out);
        ms_release(tape, qkv);
        return;
    }
    ms_tensor qkv = ms_view(tape, fused, MS_SHAPE(b, n, ms_dim_add(s, h, ms_dim_number(s, 2)), d));
    ms_retain(tape, qkv);
    out[0] = ms_narrow(tape, qkv, 2, h);
    out[1] = ms_index_one(tape, qkv, 2);
    out[2] = ms_index_one(tape, qkv, 2);
    retain3(tape, out);
    ms_release(tape, qkv);
}

/* transpose(1, 2).reshape(B, heads, S, D) */
static ms_tensor head_major(ms_model *model, ms_tensor x)
{
    if (ms_idle(model->tape) || !x)
        return 0;
    ms_dim heads = ms_info(model->tape, x)->shape.dims[2];
    return ms_reshape(model->tape, ms_transpose(model->tape, x, 1, 2),
                      MS_SHAPE(model->batch, heads, model->seq, model->head_dim));
}

static void rotate(ms_model *model, const ms_falcon *d, ms_locals *f, ms_tensor *query,
                   ms_tensor *key)
{
    ms_tensor turned[2];
    ms_rotary_whole(model, *query, *key, d->cos, d->sin, turned);
    ms_retain(model->tape, turned[0]);
    ms_retain(model->tape, turned[1]);
    ms_assign(f, query, turned[0]);
    ms_assign(f, key, turned[1]);
    ms_release(model->tape, turned[0]);
    ms_release(model->tape, turned[1]);
}

/* softmax((q kᵀ / sqrt(D)) + mask) v */
static ms_tensor eager_rotary(ms_model *model, const ms_falcon *d, ms_tensor query, ms_tensor key,
                              ms_tensor value, ms_dtype dtype, ms_tensor *weights)
{
    ms_tape *tape = model->tape;
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *scores = ms_local(&f, ms_matmul(tape, query, ms_transpose(tape, key, 2, 3)));
    ms_assign(&f, scores, ms_div_scalar_(tape, *scores));
    ms_assign(&f, scores, ms_softmax_last(tape, ms_add(tape, *scores, d->mask), dtype));
    ms_tensor *out = ms_local(&f, ms_matmul(tape, *scores, value));
    *weights = tape->stopped ? 0 : *scores;
    ms_retain(tape, *weights);
    return ms_locals_end(&f, out);
}

/* The scores get ALiBi in fp32, then the mask, which has it too. */
static ms_tensor eager_alibi(ms_model *model, const ms_falcon *d, ms_tensor query, ms_tensor key,
                             ms_tensor value, ms_dtype dtype, ms_locals *f, ms_tensor *weights)
{
    ms_tape *tape = model->tape;
    ms_tensor *scores = ms_local(f, 0), *probs = ms_local(f, 0);
    ms_tensor *product = ms_local(f, ms_matmul(tape, query, ms_transpose(tape, key, 2, 3)));
    if (ms_idle(tape))
        return 0;
    ms_assign(f, scores, ms_view(tape, *product, ms_info(tape, *product)->shape));
    ms_assign(f, scores, ms_to(tape, *scores, MS_DTYPE_F32));
    ms_tensor *logits = ms_local(f, ms_add(tape, *scores, d->alibi));
    ms_assign(f, logits, ms_mul_scalar_(tape, *logits));
    ms_assign(f, probs, ms_softmax_last(tape, ms_add(tape, *logits, d->mask), dtype));
    ms_assign(f, probs, ms_dropout(tape, *probs, model->config->attention_dropout));
    ms_tensor out = ms_matmul(tape, *probs, value);
    *weights = tape->stopped ? 0 : *probs;
    ms_retain(tape, *weights);
    return out;
}

static ms_tensor attend(ms_model *model, const ms_falcon *d, ms_tensor query, ms_tensor key,
                        ms_tensor value, ms_dtype dtype, ms_locals *f, ms_tensor *weights)
{
    *weights = 0;
    if (model->attention != MS_ATTENTION_EAGER)
        return ms_sdpa(model->tape, model->backends[0].masked, query, key, value, d->mask,
                       model->config->attention_dropout);
    return model->config->alibi ? eager_alibi(model, d, query, key, value, dtype, f, weights)
                                : eager_rotary(model, d, query, key, value, dtype, weights);
}

ms_tensor ms_falcon_attention(ms_model *model, const ms_falcon *d, const ms_falcon_layer *l,
                              ms_tensor x, ms_tensor *weights)
{
    ms_tape *tape = model->tape;
    if (ms_idle(tape) || !x)
        return *weights = 0;
    ms_dtype dtype = (ms_dtype)ms_info(tape, x)->dtype;
    uint32_t previous = ms_scope_enter(tape, l->attention_scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, x);
    ms_tensor *fused = ms_local(&f, ms_falcon_linear(model, &l->query_key_value, *hidden)),
              parts[3];
    split_heads(model, *fused, parts);
    ms_tensor *local[3];
    for (uint32_t i = 0; i < 3; i++) {
        local[i] = ms_local(&f, parts[i]);
        ms_release(tape, parts[i]);
    }
    for (uint32_t i = 0; i < 3; i++)
        ms_assign(&f, local[i], head_major(model, *local[i]));
    if (!model->config->alibi)
        rotate(model, d, &f, local[0], local[1]);
    ms_cache_append(model, &f, (uint64_t)(l - d->layers), local[1], local[2]);
    ms_tensor *out = ms_local(&f, 0);
    ms_assign(&f, out, attend(model, d, *local[0], *local[1], *local[2], dtype, &f, weights));
    ms_shape merged = MS_SHAPE(model->batch, model->seq, model->hidden);
    ms_assign(&f, out, ms_reshape(tape, ms_transpose(tape, *out, 1, 2), merged));
    ms_assign(&f, out, ms_falcon_linear(model, &l->dense, *out));
    ms_tensor result = ms_locals_end(&f, out);
    ms_unown(tape, *weights);
    tape->scope = previous;
    return result;
}
