/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "torch/ops/attention/attention_math.h"

#include "torch/ops/attention/attention.h"

#include "torch/ops/ops.h"

ms_tensor ms_additive_mask(ms_tape *tape, ms_dim batch, ms_dim rows, ms_dim keys, ms_dtype dtype)
{
    ms_dim one = {.value = 1};
    ms_tensor zero = ms_empty_bytes(tape, ms_dtype_bytes(dtype), dtype);
    ms_tensor lowest = ms_empty_bytes(tape, ms_dtype_bytes(dtype), dtype);
    ms_tensor mask = ms_empty(tape, MS_SHAPE(batch, one, rows, keys), dtype);
    ms_consume(tape, lowest);
    ms_consume(tape, zero);
    return mask;
}

/* A bool mask [B, 1, S, S] converted to 0 and -inf. */
static ms_tensor additive_of(ms_tape *tape, ms_tensor bool_mask, ms_dtype dtype)
{
    if (ms_idle(tape) || !bool_mask)
        return 0;
    const ms_shape shape = ms_info(tape, bool_mask)->shape;
    return ms_additive_mask(tape, shape.dims[0], shape.dims[2], shape.dims[3], dtype);
}

ms_tensor ms_mask_as_bias(ms_tape *tape, ms_tensor q, ms_tensor mask)
{
    if (ms_idle(tape) || ms_info(tape, mask)->dtype != MS_DTYPE_BOOL)
        return mask;
    return additive_of(tape, mask, (ms_dtype)ms_info(tape, q)->dtype);
}

/* ones -> tril -> float mask of 0 and -inf */
static ms_tensor causal_mask(ms_tape *tape, ms_dim seq)
{
    ms_shape shape = MS_SHAPE(seq, seq);
    ms_tensor ones = ms_empty(tape, shape, MS_DTYPE_BOOL);
    ms_tensor lower = ms_empty(tape, shape, MS_DTYPE_BOOL);
    ms_consume(tape, ones);
    ms_tensor mask = ms_additive_mask(tape, (ms_dim){.value = 1}, seq, seq, MS_DTYPE_F32);
    ms_consume(tape, lower);
    return mask;
}

/* repeat_interleave: always a copy. */
static ms_tensor for_every_head(ms_tape *tape, ms_tensor kv, ms_dim heads)
{
    ms_shape s = ms_info(tape, kv)->shape;
    if (s.dims[1].value == heads.value)
        return kv;
    ms_dim groups = ms_dim_number(&tape->trace->symbols, heads.value / s.dims[1].value);
    ms_tensor wide = ms_expand(tape, ms_unsqueeze(tape, kv, 2),
                               MS_SHAPE(s.dims[0], s.dims[1], groups, s.dims[2], s.dims[3]));
    return ms_view(tape, ms_clone(tape, wide), MS_SHAPE(s.dims[0], heads, s.dims[2], s.dims[3]));
}

/* softmax whose fully masked rows become zero: it looks for them. */
static ms_tensor safe_softmax(ms_tape *tape, ms_tensor scores)
{
    ms_shape shape = ms_info(tape, scores)->shape, rows = shape;
    ms_dtype dtype = (ms_dtype)ms_info(tape, scores)->dtype;
    ms_tensor out = ms_softmax_last(tape, scores, dtype);
    rows.dims[3] = (ms_dim){.value = 1};
    ms_tensor masked = ms_empty(tape, shape, MS_DTYPE_BOOL);
    ms_tensor masked_rows = ms_empty(tape, rows, MS_DTYPE_BOOL);
    ms_transient(tape, ms_dtype_bytes(dtype), dtype);
    ms_consume(tape, masked_rows);
    ms_consume(tape, masked);
    return out;
}

ms_tensor ms_attention_math(ms_tape *tape, ms_tensor q, ms_tensor k, ms_tensor v,
                            ms_tensor given_mask, bool causal, double dropout)
{
    if (ms_idle(tape))
        return 0;
    ms_locals f = ms_locals_begin(tape);
    ms_dtype origin = (ms_dtype)ms_info(tape, q)->dtype;
    ms_shape shape = ms_info(tape, q)->shape;
    ms_tensor *query = ms_local(&f, ms_to(tape, q, MS_DTYPE_F32));
    ms_tensor *key = ms_local(&f, ms_to(tape, k, MS_DTYPE_F32));
    ms_tensor *value = ms_local(&f, ms_to(tape, v, MS_DTYPE_F32));
    ms_tensor *scaled_query = ms_local(&f, ms_scale(tape, *query));
    ms_tensor *mask =
        ms_local(&f, given_mask || !causal ? given_mask : causal_mask(tape, shape.dims[2]));
    /* Beside a mask the heads are as many, or one key head, which the products broadcast. */
    ms_tensor *wide_key =
        ms_local(&f, given_mask ? *key : for_every_head(tape, *key, shape.dims[1]));
    ms_tensor *wide_value =
        ms_local(&f, given_mask ? *value : for_every_head(tape, *value, shape.dims[1]));
    ms_tensor scaled_key = ms_scale(tape, *wide_key);
    ms_tensor *scores =
        ms_local(&f, ms_matmul(tape, *scaled_query, ms_transpose(tape, scaled_key, 2, 3)));
    if (*mask && ms_needs_grad(tape, *mask))
        ms_assign(&f, scores, ms_add_(tape, *scores, *mask));
    ms_assign(&f, scores, safe_softmax(tape, *scores));
    ms_assign(&f, scores, ms_dropout(tape, *scores, dropout));
    /* The second result, the probabilities in the inputs' dtype, is made first and dropped last. */
    ms_tensor probabilities = ms_to(tape, *scores, origin);
    ms_retain(tape, probabilities);
    ms_tensor *out = ms_local(&f, ms_to(tape, ms_matmul(tape, *scores, *wide_value), origin));
    ms_tensor *const last_first[] = {scores, wide_key, wide_value, scaled_query,
                                     mask,   value,    key,        query};
    for (uint32_t i = 0; i < sizeof last_first / sizeof *last_first; i++)
        ms_assign(&f, last_first[i], 0);
    ms_tensor result = ms_locals_end(&f, out);
    ms_release(tape, probabilities);
    return result;
}
