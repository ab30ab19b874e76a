/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/blocks/attention/masks.h"

#include "input/config/model/layer_kinds.h"
#include "input/config/model/model_config.h"
#include "model/blocks/blocks.h"
#include "model/blocks/cache.h"
#include "model/blocks/packed/quantized.h"
#include "torch/ops/attention/attention_math.h"
#include "torch/ops/moe/routing.h"
#include "torch/ops/moe/experts.h"
#include "torch/ops/moe/rows.h"
#include "torch/ops/ops.h"

/* find_packed_sequence_indices: the number of each token's document, [B, S], which the caller
 * holds; 0: rows are one document each. */
static ms_tensor find_documents(ms_model *model, ms_tensor position_ids)
{
    ms_tape *tape = model->tape;
    ms_symbols *s = &tape->trace->symbols;
    ms_dim one = ms_dim_number(s, 1);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *expanded =
        ms_local(&f, ms_expand(tape, position_ids, MS_SHAPE(model->batch, model->seq)));
    ms_tensor *first = ms_local(&f, ms_add_scalar(tape, ms_narrow(tape, *expanded, 1, one)));
    ms_tensor joined = ms_cat2(tape, *first, *expanded, 1);
    ms_tensor *difference =
        ms_local(&f, ms_add(tape, ms_narrow(tape, joined, 1, model->seq), *expanded));
    ms_tensor differs = ms_compare(tape, *difference, 0);
    ms_retain(tape, differs);
    ms_tensor *packed = ms_local(&f, ms_cumsum_last(tape, ms_unown(tape, differs)));
    ms_tensor last = ms_compare(tape, ms_narrow(tape, *packed, 1, one), 0);
    ms_tensor all = ms_empty_bytes(tape, 1, MS_DTYPE_BOOL);
    ms_consume(tape, last);
    ms_consume(tape, all);
    ms_host_waits(tape); /* it is read */
    return ms_locals_end(&f, model->run->documents ? packed : NULL);
}

void ms_look_for_packed_sequences(ms_model *model, ms_tensor position_ids)
{
    ms_consume(model->tape, find_documents(model, position_ids));
}

/* ---- the batch's own mask ---- */

/* A bool copy of the batch's mask; 0: it has none. A cache's tokens are none of padding. */
static ms_tensor padding_of(ms_model *model)
{
    if (!model->attention_mask || model->cache || ms_idle(model->tape))
        return 0;
    return ms_empty(model->tape, ms_info(model->tape, model->attention_mask)->shape, MS_DTYPE_BOOL);
}

/* Whether a token is padding, which is read: where attention is causal from their sum (fast_all).
 */
static bool has_padding(ms_model *model, ms_tensor padding, bool is_summed)
{
    ms_tape *tape = model->tape;
    if (!padding || ms_idle(tape))
        return false;
    ms_tensor count = is_summed ? ms_count_mask(tape, padding) : 0;
    ms_tensor is_all = ms_empty_bytes(tape, 1, MS_DTYPE_BOOL);
    ms_consume(tape, count);
    ms_consume(tape, is_all);
    ms_host_waits(tape);
    return model->run->padding.simulated == MS_PADDING_YES;
}

/* ---- bools ---- */

static ms_tensor positions(ms_tape *tape, ms_dim seq)
{
    return ms_add_scalar(tape, ms_empty(tape, MS_SHAPE(seq), MS_DTYPE_I64));
}

/* Numbers of sequences, heads, queries and keys, which the mask is made of. */
static ms_tensor index_vectors(ms_model *model, ms_locals *f, ms_dim queries, ms_dim keys)
{
    ms_tape *tape = model->tape;
    ms_local(f, ms_empty(tape, MS_SHAPE(model->batch), MS_DTYPE_I64));
    ms_local(f, ms_empty_bytes(tape, 8, MS_DTYPE_I64));
    ms_tensor numbers = *ms_local(f, positions(tape, queries));
    ms_local(f, positions(tape, keys));
    return numbers;
}

/* result & part */
static ms_tensor both(ms_tape *tape, ms_tensor result, ms_tensor part, ms_shape shape)
{
    ms_tensor joined = ms_empty(tape, shape, MS_DTYPE_BOOL);
    ms_consume(tape, part);
    ms_consume(tape, result);
    return joined;
}

/* A mask as a function of the numbers of queries and keys. */
typedef ms_tensor (*pattern)(ms_tape *tape, ms_tensor queries, ms_shape pairs);

/* keys <= queries */
static ms_tensor causal(ms_tape *tape, ms_tensor queries, ms_shape pairs)
{
    (void)queries;
    return ms_empty(tape, pairs, MS_DTYPE_BOOL);
}

/* keys > queries - window, and causal */
static ms_tensor sliding_causal(ms_tape *tape, ms_tensor queries, ms_shape pairs)
{
    ms_tensor all = ms_empty_bytes(tape, 1, MS_DTYPE_BOOL);
    ms_tensor first = ms_add_scalar(tape, queries);
    ms_tensor recent = ms_empty(tape, pairs, MS_DTYPE_BOOL);
    ms_consume(tape, first);
    ms_tensor result = both(tape, all, recent, pairs);
    return both(tape, result, causal(tape, queries, pairs), pairs);
}

/* queries >= 0: [1, 1, S, 1] */
static ms_tensor both_ways(ms_tape *tape, ms_tensor queries, ms_shape pairs)
{
    (void)queries;
    pairs.dims[3].value = 1;
    return ms_empty(tape, pairs, MS_DTYPE_BOOL);
}

/* abs(queries - keys) <= window, and queries >= 0 */
static ms_tensor sliding_both_ways(ms_tape *tape, ms_tensor queries, ms_shape pairs)
{
    ms_tensor all = ms_empty_bytes(tape, 1, MS_DTYPE_BOOL);
    ms_tensor difference = ms_empty(tape, pairs, MS_DTYPE_I64);
    ms_tensor distance = ms_empty(tape, pairs, MS_DTYPE_I64);
    ms_consume(tape, difference);
    ms_tensor near = ms_empty(tape, pairs, MS_DTYPE_BOOL);
    ms_consume(tape, distance);
    ms_tensor result = both(tape, all, near, pairs);
    return both(tape, result, both_ways(tape, queries, pairs), pairs);
}

/* The mask of a pattern, and of the batch's mask if there is one: [B, 1, S, keys], else [1, ..]. */
static ms_tensor bool_mask(ms_model *model, pattern make, ms_tensor padding, ms_dim queries,
                           ms_dim keys)
{
    ms_tape *tape = model->tape;
    ms_dim one = ms_dim_number(&tape->trace->symbols, 1);
    ms_shape pairs = MS_SHAPE(one, one, queries, keys);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor numbers = index_vectors(model, &f, queries, keys);
    ms_tensor allowed = 0;
    if (padding) {
        ms_shape rows = MS_SHAPE(model->batch, one, queries, keys);
        ms_tensor all = ms_empty_bytes(tape, 1, MS_DTYPE_BOOL);
        ms_tensor made = make(tape, numbers, pairs);
        ms_shape seen = ms_idle(tape) ? pairs : ms_info(tape, made)->shape;
        allowed = both(tape, all, made, seen);
        ms_tensor real = ms_empty(tape, MS_SHAPE(model->batch, one, one, keys), MS_DTYPE_BOOL);
        allowed = both(tape, allowed, real, rows);
    } else {
        allowed = make(tape, numbers, pairs);
    }
    ms_locals_end(&f, NULL);
    return allowed;
}

/* of[row, numbers] for queries and for keys, in this order; held. */
typedef struct of_pairs {
    ms_tensor queries, keys;
} of_pairs;

static of_pairs index_pairs(ms_model *model)
{
    ms_tape *tape = model->tape;
    ms_dim one = ms_dim_number(&tape->trace->symbols, 1);
    const ms_shape shapes[] = {MS_SHAPE(model->batch, one, model->seq, one),
                               MS_SHAPE(model->batch, one, one, model->seq)};
    ms_tensor found[2];
    for (int i = 0; i < 2; i++) {
        ms_tensor rows = ms_empty(tape, shapes[i], MS_DTYPE_I64); /* the rows' numbers, as many */
        found[i] = ms_empty(tape, shapes[i], MS_DTYPE_I64);
        ms_retain(tape, found[i]);
        ms_consume(tape, rows);
    }
    return (of_pairs){found[0], found[1]};
}

static void drop_pairs(ms_tape *tape, of_pairs pairs)
{
    ms_release(tape, pairs.keys);
    ms_release(tape, pairs.queries);
}

/* The mask of a pattern over positions in their documents, and of tokens of one document: [B, 1, S,
 * S]. */
static ms_tensor documents_mask(ms_model *model, pattern make)
{
    ms_tape *tape = model->tape;
    ms_dim one = ms_dim_number(&tape->trace->symbols, 1);
    const ms_shape rows = MS_SHAPE(model->batch, one, model->seq, model->seq);
    ms_locals f = ms_locals_begin(tape);
    index_vectors(model, &f, model->seq, model->seq);
    ms_tensor all = ms_empty_bytes(tape, 1, MS_DTYPE_BOOL);
    of_pairs places = index_pairs(model);
    ms_tensor made = make(tape, places.queries, rows);
    drop_pairs(tape, places);
    ms_tensor allowed = both(tape, all, made, rows);
    of_pairs documents = index_pairs(model);
    ms_tensor same = ms_empty(tape, rows, MS_DTYPE_BOOL);
    drop_pairs(tape, documents);
    allowed = both(tape, allowed, same, rows);
    ms_locals_end(&f, NULL);
    return allowed;
}

/* (place - left_padding[row]) // chunk, of every row's keys or queries: [B, 1, .., n] */
static ms_tensor chunk_of(ms_model *model, ms_dim count)
{
    ms_tape *tape = model->tape;
    ms_tensor padding = ms_empty(tape, MS_SHAPE(model->batch), MS_DTYPE_I64);
    ms_tensor places = ms_empty(tape, MS_SHAPE(model->batch, count), MS_DTYPE_I64);
    ms_consume(tape, padding);
    return ms_floor_divide(tape, places);
}

/* The same where tokens see those of their own chunk: [B, 1, S, keys]. */
static ms_tensor chunked_mask(ms_model *model, ms_dim key_count)
{
    ms_tape *tape = model->tape;
    ms_dim one = ms_dim_number(&tape->trace->symbols, 1);
    ms_shape rows = MS_SHAPE(model->batch, one, model->seq, key_count);
    ms_locals f = ms_locals_begin(tape);
    index_vectors(model, &f, model->seq, key_count);
    ms_tensor all = ms_empty_bytes(tape, 1, MS_DTYPE_BOOL);
    ms_tensor keys = chunk_of(model, key_count);
    ms_tensor queries = chunk_of(model, model->seq);
    ms_tensor same = ms_empty(tape, rows, MS_DTYPE_BOOL);
    ms_consume(tape, keys);
    ms_consume(tape, queries);
    ms_tensor allowed = both(tape, all, same, rows);
    ms_tensor past = ms_empty(tape, MS_SHAPE(one, one, model->seq, key_count), MS_DTYPE_BOOL);
    allowed = both(tape, allowed, past, rows);
    ms_locals_end(&f, NULL);
    return allowed;
}

/* The same, while the rows' numbers of padding tokens exist. */
static ms_tensor padded_chunks(ms_model *model, ms_dim keys)
{
    ms_tape *tape = model->tape;
    ms_tensor padding = ms_empty(tape, MS_SHAPE(model->batch), MS_DTYPE_I64);
    ms_tensor mask = chunked_mask(model, keys);
    ms_consume(tape, padding);
    return mask;
}

/* ---- what attention gets ---- */

/* Eager attention's is additive: 0 where allowed, the lowest number of the dtype elsewhere. */
static ms_tensor as_attention_takes(ms_model *model, ms_tensor allowed, ms_dim queries, ms_dim keys)
{
    ms_tape *tape = model->tape;
    ms_dim one = ms_dim_number(&tape->trace->symbols, 1);
    if (model->attention != MS_ATTENTION_EAGER)
        return ms_expand(tape, allowed, MS_SHAPE(model->batch, one, queries, keys));
    ms_tensor mask = ms_additive_mask(tape, model->batch, queries, keys, ms_unpacked_dtype(model));
    ms_consume(tape, allowed);
    return mask;
}

/* Whether causality alone, or no mask at all for a single query, is what the fused call needs. An
 * indexer adds to a mask. */
static bool needs_no_mask(const ms_model *model, uint64_t layer, bool windowed)
{
    if (windowed && ms_cache_keys(model, layer).value >= model->config->sliding_window)
        return false;
    return model->config->index_heads == 0 && ms_cache_is_plain(model, layer);
}

/* The first layer of the kind that a mask is for: all of a kind have seen as many tokens. Where
 * there is none, the first layer. */
static uint64_t layer_of_mask(const ms_model *model, bool sliding)
{
    uint64_t i = ms_cache_first(model), last = model->config->num_layers - 1;
    while (i < last && ms_layer_slides(model->config, i) != sliding)
        i++;
    return ms_layer_slides(model->config, i) == sliding ? i : ms_cache_first(model);
}

/* `documents`: rows have several, which their positions tell apart. */
static ms_tensor causal_mask(ms_model *model, ms_tensor padding, bool documents, bool sliding)
{
    uint64_t layer = layer_of_mask(model, sliding);
    ms_dim keys = ms_cache_keys(model, layer);
    bool windowed =
        sliding && (model->config->sliding_window > 0 || model->config->family->has_zero_window);
    if (documents)
        return as_attention_takes(model, documents_mask(model, windowed ? sliding_causal : causal),
                                  model->seq, keys);
    if (model->attention != MS_ATTENTION_EAGER && needs_no_mask(model, layer, windowed) &&
        !has_padding(model, padding, true))
        return 0;
    bool chunked = windowed && model->config->family->has_chunks;
    ms_tensor mask =
        chunked ? padded_chunks(model, keys)
                : bool_mask(model, windowed ? sliding_causal : causal, padding, model->seq, keys);
    return as_attention_takes(model, mask, model->seq, keys);
}

ms_tensor ms_causal_mask(ms_model *model, ms_tensor position_ids, bool sliding)
{
    ms_locals f = ms_locals_begin(model->tape);
    bool is_encoders = model->config->is_encoder_decoder; /* of the other sequence */
    ms_tensor *padding = ms_local(&f, is_encoders ? 0 : padding_of(model));
    bool looks = position_ids && !model->cache && !*padding;
    ms_tensor *documents = ms_local(&f, looks ? find_documents(model, position_ids) : 0);
    ms_tensor *mask = ms_local(&f, causal_mask(model, *padding, *documents != 0, sliding));
    return ms_locals_end(&f, mask);
}

ms_tensor ms_full_mask(ms_model *model)
{
    ms_dim keys = ms_cache_keys(model, 0);
    ms_locals f = ms_locals_begin(model->tape);
    ms_tensor *padding = ms_local(&f, padding_of(model));
    ms_tensor allowed = bool_mask(model, causal, *padding, model->seq, keys);
    ms_tensor *mask = ms_local(&f, as_attention_takes(model, allowed, model->seq, keys));
    return ms_locals_end(&f, mask);
}

ms_tensor ms_padding_mask(ms_model *model, ms_dim queries, ms_dim keys)
{
    ms_locals f = ms_locals_begin(model->tape);
    ms_tensor *padding = ms_local(&f, padding_of(model));
    ms_tensor *mask = ms_local(&f, 0);
    if (has_padding(model, *padding, false)) {
        ms_tensor allowed = bool_mask(model, both_ways, *padding, queries, keys);
        ms_assign(&f, mask, as_attention_takes(model, allowed, queries, keys));
    }
    return ms_locals_end(&f, mask);
}

ms_tensor ms_window_mask(ms_model *model)
{
    if (!ms_model_has_layers(model->config, MS_LAYER_SLIDES))
        return 0;
    ms_locals f = ms_locals_begin(model->tape);
    ms_tensor *padding = ms_local(&f, padding_of(model));
    ms_tensor *mask = ms_local(&f, 0);
    bool is_padded = has_padding(model, *padding, false); /* it is asked first */
    if (is_padded || model->seq.value >= model->config->sliding_window) {
        ms_tensor allowed = bool_mask(model, sliding_both_ways, *padding, model->seq, model->seq);
        ms_assign(&f, mask, as_attention_takes(model, allowed, model->seq, model->seq));
    }
    return ms_locals_end(&f, mask);
}
