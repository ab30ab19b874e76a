/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The attention interface: the fused call, and the eager function.
 */
#include "model/blocks/attention/attend.h"

#include "input/config/model/model_config.h"
#include "model/blocks/blocks.h"
#include "model/blocks/cache.h"
#include "model/blocks/packed/quantized.h"
#include "torch/ops/moe/routing.h"
#include "torch/ops/moe/experts.h"
#include "torch/treatments/tile_attention.h"

ms_tensor ms_as_heads(ms_model *model, ms_tensor x, ms_dim heads)
{
    ms_shape shape = MS_SHAPE(model->batch, model->seq, heads, model->head_dim);
    return ms_transpose(model->tape, ms_view(model->tape, x, shape), 1, 2);
}

/* How many queries of a head of `kv`, [B, Hk, keys, D], there are. */
static ms_dim group_of(ms_model *model, const ms_shape *kv)
{
    return ms_dim_number(&model->tape->trace->symbols, model->heads.value / kv->dims[1].value);
}

static ms_tensor repeat_kv(ms_model *model, ms_tensor kv)
{
    ms_tape *tape = model->tape;
    if (ms_idle(tape) || !kv)
        return kv;
    const ms_shape shape = ms_info(tape, kv)->shape;
    ms_dim heads = shape.dims[1], keys = shape.dims[2], width = shape.dims[3];
    if (model->heads.value == heads.value)
        return kv;
    ms_dim groups = group_of(model, &shape);
    ms_tensor wide = ms_expand(tape, ms_unsqueeze(tape, kv, 2),
                               MS_SHAPE(model->batch, heads, groups, keys, width));
    return ms_reshape(tape, wide, MS_SHAPE(model->batch, model->heads, keys, width));
}

/* The arguments are the caller's locals. */
static ms_tensor eager_attention(ms_model *model, ms_tensor q, ms_tensor k, ms_tensor v,
                                 ms_tensor mask, ms_tensor *weights)
{
    ms_tape *tape = model->tape;
    bool softmax_in_fp32 = model->softmax_in_fp32;
    if (ms_idle(tape) || !q)
        return 0;
    ms_dtype dtype = (ms_dtype)ms_info(tape, q)->dtype,
             value_dtype = (ms_dtype)ms_info(tape, v)->dtype;
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *keys = ms_local(&f, repeat_kv(model, k));
    ms_tensor *values = ms_local(&f, repeat_kv(model, v));
    ms_tensor product = ms_matmul(tape, q, ms_transpose(tape, *keys, 2, 3));
    ms_tensor *attn_weights = ms_local(&f, ms_mul_scalar(tape, product));
    if (model->config->caps_scores)
        ms_soft_cap(model, &f, attn_weights);
    if (mask)
        ms_assign(&f, attn_weights, ms_add(tape, *attn_weights, mask));
    if (softmax_in_fp32) {
        ms_assign(&f, attn_weights,
                  ms_to(tape, ms_softmax_last(tape, *attn_weights, MS_DTYPE_F32), dtype));
    } else {
        ms_dtype scores = ms_idle(tape) ? dtype : (ms_dtype)ms_info(tape, *attn_weights)->dtype;
        ms_assign(&f, attn_weights, ms_softmax_last(tape, *attn_weights, scores));
        if (!model->softmax_uncast)
            ms_assign(&f, attn_weights, ms_to(tape, *attn_weights, value_dtype));
    }
    ms_assign(&f, attn_weights, ms_dropout(tape, *attn_weights, model->config->attention_dropout));
    ms_tensor *output = ms_local(&f, ms_matmul(tape, *attn_weights, *values));
    ms_assign(&f, output, ms_transpose(tape, *output, 1, 2));
    if (softmax_in_fp32 || model->softmax_uncast) /* all but GPT-2 also make it contiguous here */
        ms_assign(&f, output, ms_contiguous(tape, *output));
    *weights = tape->stopped ? 0 : *attn_weights;
    ms_retain(tape, *weights);
    ms_tensor result = ms_locals_end(&f, output);
    ms_unown(tape, *weights);
    return result;
}

/* combined - combined.max(dim=-1, keepdim=True).values */
static ms_tensor less_the_largest(ms_tape *tape, ms_tensor scores)
{
    ms_tensor largest[2];
    ms_max_last(tape, scores, true, largest);
    ms_consume(tape, largest[1]);
    return ms_sub(tape, scores, largest[0]);
}

ms_tensor ms_sink_attention(ms_model *model, ms_tensor q, ms_tensor k, ms_tensor v, ms_tensor mask,
                            ms_tensor sinks, ms_tensor *weights)
{
    ms_tape *tape = model->tape;
    ms_dim one = ms_dim_number(&tape->trace->symbols, 1);
    *weights = 0;
    if (ms_idle(tape) || !q)
        return 0;
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *keys = ms_local(&f, repeat_kv(model, k));
    ms_tensor *values = ms_local(&f, repeat_kv(model, v));
    ms_tensor product = ms_matmul(tape, q, ms_transpose(tape, *keys, 2, 3));
    ms_tensor *attn_weights = ms_local(&f, ms_mul_scalar(tape, product));
    ms_assign(&f, attn_weights, ms_add(tape, *attn_weights, mask));
    ms_tensor *sink =
        ms_local(&f, ms_expand(tape, ms_view(tape, sinks, MS_SHAPE(one, model->heads, one, one)),
                               MS_SHAPE(model->batch, model->heads, model->seq, one)));
    ms_tensor *combined = ms_local(&f, ms_cat2(tape, *attn_weights, *sink, 3));
    ms_assign(&f, combined, less_the_largest(tape, *combined));
    ms_dtype dtype = ms_idle(tape) ? MS_DTYPE_F32 : (ms_dtype)ms_info(tape, *combined)->dtype;
    ms_tensor *probs = ms_local(&f, ms_softmax_in(tape, *combined, dtype));
    ms_dim seen = ms_idle(tape) ? model->seq : ms_info(tape, *keys)->shape.dims[2];
    ms_tensor *scores = ms_local(&f, ms_narrow(tape, *probs, 3, seen));
    ms_dtype wanted = ms_idle(tape) ? dtype : (ms_dtype)ms_info(tape, *values)->dtype;
    ms_tensor dropped = ms_dropout(tape, *scores, model->config->attention_dropout);
    ms_assign(&f, attn_weights, ms_to(tape, dropped, wanted));
    ms_tensor *output = ms_local(&f, ms_matmul(tape, *attn_weights, *values));
    ms_assign(&f, output, ms_contiguous(tape, ms_transpose(tape, *output, 1, 2)));
    *weights = tape->stopped ? 0 : *attn_weights;
    ms_retain(tape, *weights);
    ms_tensor result = ms_locals_end(&f, output);
    ms_unown(tape, *weights);
    return result;
}

/* Without a mask the framework lets the kernel group the queries, where it can. */
static bool repeats_kv(ms_tape *tape, ms_tensor k, ms_tensor v, ms_tensor mask)
{
    enum { WIDEST_GROUPED = 256 };
    if (mask || ms_idle(tape) || !k || !v)
        return mask != 0;
    uint64_t key = ms_info(tape, k)->shape.dims[3].value;
    return key > WIDEST_GROUPED || key != ms_info(tape, v)->shape.dims[3].value;
}

/* The framework repeats keys and values itself; a single query's heads it takes as queries of the
 * key's heads instead. */
static ms_tensor repeated_attention(ms_model *model, ms_attention backend, ms_tensor q, ms_tensor k,
                                    ms_tensor v, ms_tensor mask)
{
    ms_tape *tape = model->tape;
    double dropout = model->config->attention_dropout;
    if (ms_idle(tape) || !q || !k)
        return 0;
    const ms_shape queries = ms_info(tape, q)->shape, keys = ms_info(tape, k)->shape;
    bool packs = model->seq.value == 1 && model->heads.value != keys.dims[1].value;
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *key = ms_local(&f, packs ? k : repeat_kv(model, k));
    ms_tensor *value = ms_local(&f, packs ? v : repeat_kv(model, v));
    if (packs)
        q = *ms_local(&f, ms_reshape(tape, q,
                                     MS_SHAPE(model->batch, keys.dims[1], group_of(model, &keys),
                                              queries.dims[3])));
    ms_tensor *out = ms_local(&f, mask || model->seq.value > 1
                                      ? ms_sdpa(tape, backend, q, *key, *value, mask, dropout)
                                      : ms_sdpa_both_ways(tape, backend, q, *key, *value, dropout));
    if (packs)
        ms_assign(&f, out,
                  ms_reshape(tape, *out,
                             MS_SHAPE(model->batch, model->heads, model->seq, queries.dims[3])));
    ms_assign(&f, out, ms_contiguous(tape, ms_transpose(tape, *out, 1, 2)));
    return ms_locals_end(&f, out);
}

/* Of a static cache's room a prompt sees its own tokens. */
static ms_tensor own_tokens(const ms_model *model, ms_tensor x)
{
    ms_tape *tape = model->tape;
    if (ms_idle(tape) || !x || ms_info(tape, x)->shape.dims[2].value <= model->seq.value)
        return x;
    return ms_narrow(tape, x, 2, model->seq);
}

static ms_tensor fused_attention(ms_model *model, uint64_t layer, ms_tensor q, ms_tensor k,
                                 ms_tensor v, ms_tensor mask)
{
    ms_tape *tape = model->tape;
    const ms_backends *backends = &model->backends[ms_layer_is_wide(model->config, layer)];
    if (repeats_kv(tape, k, v, mask))
        return repeated_attention(model, backends->masked, q, k, v, mask);
    ms_locals f = ms_locals_begin(tape);
    double dropout = model->config->attention_dropout;
    /* A single query sees all keys. */
    bool both_ways = model->config->family->is_bidirectional || model->seq.value == 1;
    k = *ms_local(&f, both_ways ? k : own_tokens(model, k));
    v = *ms_local(&f, both_ways ? v : own_tokens(model, v));
    ms_tensor *out =
        ms_local(&f, both_ways ? ms_sdpa_both_ways(tape, backends->plain, q, k, v, dropout)
                               : ms_sdpa(tape, backends->plain, q, k, v, 0, dropout));
    ms_assign(&f, out, ms_contiguous(tape, ms_transpose(tape, *out, 1, 2)));
    return ms_locals_end(&f, out);
}

static ms_tensor run_piece(ms_tape *tape, const ms_tiled_attention *tiled, ms_tensor q, ms_tensor k,
                           ms_tensor v, ms_tensor mask)
{
    ms_model *model = tiled->context;
    if (model->attention != MS_ATTENTION_EAGER)
        return fused_attention(model, tiled->layer, q, k, v, mask);
    ms_tensor weights = 0;
    ms_tensor out = eager_attention(model, q, k, v, mask, &weights);
    ms_consume(tape, weights);
    return out;
}

ms_tensor ms_attention_call(ms_model *model, uint64_t layer, ms_tensor q, ms_tensor k, ms_tensor v,
                            ms_tensor mask, ms_tensor *weights)
{
    const ms_tiled_attention tiled = {
        .run = run_piece,
        .context = model,
        .layer = layer,
        .pieces = model->run->treatments.layers[layer].parts[MS_PART_TILE_ATTENTION],
    };
    *weights = 0;
    if (tiled.pieces > 1)
        return ms_tiled_attention_run(model->tape, tiled, q, k, v, mask);
    if (model->attention == MS_ATTENTION_EAGER)
        return eager_attention(model, q, k, v, mask, weights);
    return fused_attention(model, layer, q, k, v, mask);
}
