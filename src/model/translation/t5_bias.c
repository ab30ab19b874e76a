/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * T5's bias of relative positions. Distances are sorted into buckets by whole numbers, which need
 * no gradient; each head has a learned number for each bucket.
 */
#include "model/translation/t5_bias.h"
#include "torch/ops/ops.h"

/* The next tensor of a chain: it exists before the last one goes. */
static ms_tensor next(ms_tape *tape, ms_tensor last, ms_shape shape, ms_dtype dtype)
{
    ms_tensor made = ms_empty(tape, shape, dtype);
    ms_consume(tape, last);
    return made;
}

/* (relative_position > 0).to(long) * buckets, added to 0; binds abs(relative_position), or -min of
 * it and zeros, which a decoder takes. */
static ms_tensor *split_signs(ms_tape *tape, ms_locals *f, ms_shape pairs, bool decodes,
                              ms_tensor **distance)
{
    ms_tensor *buckets = ms_local(f, 0);
    if (decodes) {
        ms_tensor zeros = ms_empty(tape, pairs, MS_DTYPE_I64);
        ms_tensor least = next(tape, zeros, pairs, MS_DTYPE_I64);
        *distance = ms_local(f, next(tape, least, pairs, MS_DTYPE_I64));
        return buckets;
    }
    ms_tensor after = ms_empty(tape, pairs, MS_DTYPE_BOOL);
    ms_tensor number = next(tape, after, pairs, MS_DTYPE_I64);
    ms_tensor scaled = next(tape, number, pairs, MS_DTYPE_I64);
    ms_assign(f, buckets, next(tape, scaled, pairs, MS_DTYPE_I64));
    *distance = ms_local(f, ms_empty(tape, pairs, MS_DTYPE_I64));
    return buckets;
}

/* min(exact + (log(distance / exact) / c * d).to(long), buckets - 1) */
static ms_tensor large_buckets(ms_tape *tape, ms_locals *f, ms_shape pairs)
{
    ms_tensor chain = ms_empty(tape, pairs, MS_DTYPE_F32);
    for (int i = 0; i < 4; i++) /* / exact, log, / c, * d */
        chain = next(tape, chain, pairs, MS_DTYPE_F32);
    chain = next(tape, chain, pairs, MS_DTYPE_I64);
    ms_tensor *large = ms_local(f, next(tape, chain, pairs, MS_DTYPE_I64));
    ms_tensor most = ms_empty(tape, pairs, MS_DTYPE_I64);
    ms_assign(f, large, next(tape, most, pairs, MS_DTYPE_I64));
    return *large;
}

/* _relative_position_bucket: [S, keys] of int64 */
static ms_tensor buckets_of(ms_tape *tape, ms_tensor relative, ms_shape pairs, bool decodes)
{
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *distance;
    ms_tensor *given = ms_argument(&f, relative);
    (void)given;
    ms_tensor *buckets = split_signs(tape, &f, pairs, decodes, &distance);
    ms_local(&f, ms_empty(tape, pairs, MS_DTYPE_BOOL)); /* distance < exact */
    (void)large_buckets(tape, &f, pairs);
    ms_tensor chosen = ms_empty(tape, pairs, MS_DTYPE_I64);
    if (decodes)
        ms_assign(&f, buckets, next(tape, chosen, pairs, MS_DTYPE_I64));
    else
        ms_consume(tape, chosen); /* += works in place */
    return ms_locals_end(&f, buckets);
}

ms_tensor ms_t5_position_bias(ms_model *model, const ms_t5_attention *attention,
                              const ms_t5_stack *stack, ms_dim keys)
{
    ms_tape *tape = model->tape;
    if (ms_idle(tape))
        return 0;
    const ms_dim tokens = stack->tokens;
    ms_shape pairs = MS_SHAPE(tokens, keys);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor range = ms_empty(tape, MS_SHAPE(tokens), MS_DTYPE_I64);
    ms_local(&f, next(tape, range, MS_SHAPE(tokens), MS_DTYPE_I64)); /* + past_seen_tokens */
    ms_local(&f, ms_empty(tape, MS_SHAPE(keys), MS_DTYPE_I64));
    ms_tensor *relative = ms_local(&f, ms_empty(tape, pairs, MS_DTYPE_I64));
    ms_tensor *buckets = ms_local(&f, buckets_of(tape, *relative, pairs, stack->decodes));
    uint32_t previous = ms_scope_enter(tape, attention->table_scope);
    ms_tensor *values = ms_local(&f, ms_embedding(tape, attention->table, *buckets));
    tape->scope = previous;
    ms_tensor turned = ms_transpose(tape, ms_transpose(tape, *values, 1, 2), 0, 1);
    ms_assign(&f, values, ms_unsqueeze(tape, turned, 0));
    return ms_locals_end(&f, values);
}
