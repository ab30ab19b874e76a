/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * T5's layers: attention to the own tokens, in a decoder attention to the encoder's, and an MLP,
 * each behind a norm.
 */
#include "model/translation/t5_layers.h"

#include "input/config/model/model_config.h"
#include "input/config/run/attention.h"
#include "model/blocks/cache.h"
#include "torch/autograd/graph.h"
#include "torch/ops/attention/attention.h"
#include "torch/ops/ops.h"

/* ---- t5 bias ---- */

/* T5's bias of relative positions. */

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

/* compute_bias: a row of the table for every pair of a query of the stack and a key, [1, heads, S,
 * keys]. */
static ms_tensor t5_position_bias(ms_model *model, const ms_t5_attention *attention,
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

/* ---- norms ---- */

/* weight * (x * rsqrt(mean(x.float() ** 2) + eps)), cast before the product where the weight is in
 * half precision; x itself stays in its type. */
static ms_tensor run_norm(ms_tape *tape, void *context, uint64_t number, ms_tensor x)
{
    const ms_norm_module *module = ms_norm_of(number);
    (void)context;
    if (ms_idle(tape) || !x) {
        ms_consume(tape, x);
        return 0;
    }
    uint32_t previous = ms_scope_enter(tape, module->scope);
    ms_dtype dtype = (ms_dtype)ms_info(tape, module->weight)->dtype;
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, x);
    ms_tensor square = ms_pow(tape, ms_to(tape, *hidden, MS_DTYPE_F32));
    ms_tensor *variance = ms_local(&f, ms_mean_last(tape, square));
    ms_tensor scale = ms_rsqrt(tape, ms_add_scalar(tape, *variance));
    ms_assign(&f, hidden, ms_mul(tape, *hidden, scale));
    if (ms_dtype_bytes(dtype) == 2)
        ms_assign(&f, hidden, ms_idle(tape) ? 0 : ms_to(tape, *hidden, dtype));
    ms_tensor out = ms_mul(tape, module->weight, *hidden);
    ms_retain(tape, out);
    ms_locals_end(&f, NULL);
    tape->scope = previous;
    return ms_unown(tape, out);
}

static ms_tensor norm(ms_model *model, const ms_norm_module *module, ms_tensor x)
{
    return ms_norm_call(model, module, x, run_norm);
}

ms_tensor ms_t5_norm(ms_model *model, const ms_norm_module *module, ms_tensor x)
{
    return norm(model, module, x);
}

/* ---- attention ---- */

/* What attention is given, and what it hands back beside its result. */
typedef struct call {
    const ms_t5_attention *attention;
    const ms_t5_stack *stack;
    ms_tensor source; /* the encoder's result; 0: the own tokens */
    ms_dim keys;      /* their number */
    uint64_t layer;
    ms_tensor bias; /* 0: it is to be made */
    ms_tensor mask; /* of the keys; 0: none */
    ms_tensor weights;
} call;

static ms_tensor heads_of(ms_model *model, const ms_linear_module *linear, ms_tensor x,
                          ms_dim tokens)
{
    ms_shape shape = MS_SHAPE(model->batch, tokens, model->heads, model->head_dim);
    return ms_transpose(model->tape, ms_view(model->tape, ms_linear_call(model, linear, x), shape),
                        1, 2);
}

/* transformers' switch checkpoints all layers, and tells attention. */
static bool is_checkpointed(const ms_model *model)
{
    for (uint64_t i = 0; i < model->config->num_layers; i++)
        if (model->run->treatments.layers[i].kind != MS_TREAT_CHECKPOINT)
            return false;
    return !model->tape->is_evaluating;
}

/* Zeros where nothing is learned; with checkpoints they require a gradient all the same. */
static ms_tensor zero_bias(ms_model *model, const call *c, ms_dtype dtype)
{
    ms_tape *tape = model->tape;
    ms_dim one = ms_dim_number(&tape->trace->symbols, 1);
    ms_tensor zeros = ms_empty(tape, MS_SHAPE(one, model->heads, c->stack->tokens, c->keys), dtype);
    if (!is_checkpointed(model) || ms_idle(tape))
        return zeros;
    if (ms_hooks_saving(tape) == MS_SAVING_AGAIN)
        ms_info(tape, zeros)->requires_grad = true;
    else
        ms_require_grad(tape, zeros);
    return zeros;
}

static ms_tensor new_bias(ms_model *model, const call *c, ms_tensor query)
{
    if (ms_idle(model->tape))
        return 0;
    if (c->source)
        return zero_bias(model, c, (ms_dtype)ms_info(model->tape, query)->dtype);
    return t5_position_bias(model, c->attention, c->stack, c->keys);
}

/* arange(S)[:, None] >= arange(S)[None, :] */
static ms_tensor is_past(ms_tape *tape, ms_dim tokens)
{
    ms_dim one = ms_dim_number(&tape->trace->symbols, 1);
    ms_tensor queries = ms_empty(tape, MS_SHAPE(tokens), MS_DTYPE_I64);
    ms_tensor keys = ms_empty(tape, MS_SHAPE(tokens), MS_DTYPE_I64);
    ms_tensor past = ms_empty(tape, MS_SHAPE(one, one, tokens, tokens), MS_DTYPE_BOOL);
    ms_consume(tape, queries);
    ms_consume(tape, keys);
    return past;
}

/* The bias as the fused call's mask: joined with that of padding, or causal for a decoder's own
 * tokens. */
static ms_tensor masked_bias(ms_model *model, const call *c)
{
    ms_tape *tape = model->tape;
    ms_locals f = ms_locals_begin(tape);
    if (!c->mask && (c->source || !c->stack->decodes || c->stack->tokens.value == 1))
        return ms_contiguous(tape, c->bias);
    ms_tensor *seen = ms_local(&f, c->mask ? c->mask : is_past(tape, c->stack->tokens));
    ms_tensor *mask = ms_local(&f, ms_where_number(tape, *seen, c->bias));
    ms_tensor out = ms_contiguous(tape, *mask);
    ms_retain(tape, out);
    ms_locals_end(&f, NULL);
    return ms_unown(tape, out);
}

/* A bias of one query and one key is as it lies in the table: heads side by side, which the fused
 * kernels do not take. */
static bool is_strided(const ms_model *model, const call *c)
{
    return !c->source && c->stack->tokens.value == 1 && c->keys.value == 1 &&
           model->heads.value > 1;
}

static ms_attention choose(const ms_model *model, const call *c, ms_tensor mask)
{
    if (is_strided(model, c))
        return MS_ATTENTION_MATH;
    return ms_needs_grad(model->tape, mask) ? ms_attention_choose_learned(model->config, model->run)
                                            : model->backends[0].masked;
}

static ms_tensor fused(ms_model *model, const call *c, const ms_tensor q_k_v[3])
{
    ms_tape *tape = model->tape;
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *mask = ms_local(&f, masked_bias(model, c));
    ms_attention backend = choose(model, c, *mask);
    ms_tensor *out = ms_local(&f, ms_sdpa(tape, backend, q_k_v[0], q_k_v[1], q_k_v[2], *mask,
                                          model->config->attention_dropout));
    ms_assign(&f, out, ms_contiguous(tape, ms_transpose(tape, *out, 1, 2)));
    return ms_locals_end(&f, out);
}

/* The probabilities are retained in c->weights. */
static ms_tensor eager(ms_model *model, call *c, const ms_tensor q_k_v[3])
{
    ms_tape *tape = model->tape;
    ms_locals f = ms_locals_begin(tape);
    ms_tensor product = ms_matmul(tape, q_k_v[0], ms_transpose(tape, q_k_v[1], 2, 3));
    ms_tensor *scores = ms_local(&f, ms_mul_scalar(tape, product));
    ms_assign(&f, scores, ms_add(tape, *scores, c->bias));
    if (c->mask)
        ms_assign(&f, scores, ms_add(tape, *scores, c->mask));
    ms_dtype dtype = ms_idle(tape) ? MS_DTYPE_F32 : (ms_dtype)ms_info(tape, *scores)->dtype;
    ms_assign(&f, scores, ms_softmax_last(tape, *scores, dtype));
    ms_assign(&f, scores, ms_dropout(tape, *scores, model->config->attention_dropout));
    ms_tensor *out = ms_local(&f, ms_matmul(tape, *scores, q_k_v[2]));
    ms_assign(&f, out, ms_contiguous(tape, ms_transpose(tape, *out, 1, 2)));
    c->weights = tape->stopped ? 0 : *scores;
    ms_retain(tape, c->weights);
    return ms_locals_end(&f, out);
}

/* Keys and values of `current`, and those that the cache has: *key and *value are locals. */
static void look_up(ms_model *model, const call *c, ms_locals *f, ms_tensor current, ms_tensor *key,
                    ms_tensor *value)
{
    const ms_t5_attention *a = c->attention;
    const ms_dim made = c->source ? c->keys : c->stack->tokens;
    if (c->source && ms_cache_has_cross(model, f, c->layer, key, value))
        return;
    ms_assign(f, key, heads_of(model, &a->k, current, made));
    ms_assign(f, value, heads_of(model, &a->v, current, made));
    if (c->source)
        ms_cache_keep_cross(model, f, c->layer, key, value);
    else if (c->stack->decodes)
        ms_cache_append(model, f, c->layer, key, value);
}

/* The bias, in c->bias, is retained if it was made here. */
static ms_tensor attend(ms_model *model, call *c, ms_tensor x)
{
    ms_tape *tape = model->tape;
    const ms_t5_attention *a = c->attention;
    uint32_t previous = ms_scope_enter(tape, a->scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, x);
    ms_tensor *query = ms_local(&f, heads_of(model, &a->q, *hidden, c->stack->tokens));
    ms_tensor current = c->source ? c->source : *hidden;
    ms_tensor *key = ms_local(&f, 0), *value = ms_local(&f, 0);
    look_up(model, c, &f, current, key, value);
    if (!c->bias)
        c->bias = ms_hand_out(tape, new_bias(model, c, *query));
    const ms_tensor q_k_v[] = {*query, *key, *value};
    bool is_eager = model->attention == MS_ATTENTION_EAGER;
    ms_tensor *out = ms_local(&f, ms_idle(tape) ? 0
                                  : is_eager    ? eager(model, c, q_k_v)
                                                : fused(model, c, q_k_v));
    ms_dim inner = ms_dim_mul(&tape->trace->symbols, model->heads, model->head_dim);
    ms_shape merged = MS_SHAPE(model->batch, c->stack->tokens, inner);
    ms_assign(&f, out, ms_contiguous(tape, ms_reshape(tape, *out, merged)));
    ms_assign(&f, out, ms_linear_call(model, &a->o, *out));
    ms_tensor result = ms_locals_end(&f, out);
    tape->scope = previous;
    return result;
}

/* hidden + dropout(attention(norm(hidden))) */
static ms_tensor attention_part(ms_model *model, const ms_t5_part *part, call *c, ms_tensor x)
{
    ms_tape *tape = model->tape;
    uint32_t previous = ms_scope_enter(tape, part->scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, x);
    ms_tensor *normed = ms_local(&f, norm(model, &part->norm, *hidden));
    ms_tensor *out = ms_local(&f, attend(model, c, *normed));
    ms_tensor dropped = ms_dropout(tape, *out, model->config->residual_dropout);
    ms_tensor *sum = c->source ? ms_local(&f, 0) : out; /* the decoder binds another name */
    ms_assign(&f, sum, ms_add(tape, *hidden, dropped));
    ms_tensor result = ms_locals_end(&f, sum);
    tape->scope = previous;
    return result;
}

/* ---- MLP ---- */

/* wo(dropout(act(wi(x)))), the activation times gate(x) where it is gated */
static ms_tensor mlp(ms_model *model, const ms_t5_layer *l, ms_tensor x)
{
    ms_tape *tape = model->tape;
    uint32_t previous = ms_scope_enter(tape, l->mlp_scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, x);
    if (model->config->gates_mlp) {
        ms_tensor *active =
            ms_local(&f, ms_activation_call(model, ms_linear_call(model, &l->wi, *hidden)));
        ms_tensor *gate = ms_local(&f, ms_linear_call(model, &l->gate, *hidden));
        ms_assign(&f, hidden, ms_mul(tape, *active, *gate));
    } else {
        ms_assign(&f, hidden, ms_linear_call(model, &l->wi, *hidden));
        ms_assign(&f, hidden, ms_activation_call(model, *hidden));
    }
    ms_assign(&f, hidden, ms_dropout(tape, *hidden, model->config->residual_dropout));
    if (!ms_idle(tape))
        ms_assign(&f, hidden, ms_to(tape, *hidden, (ms_dtype)ms_info(tape, l->wo.weight)->dtype));
    ms_assign(&f, hidden, ms_linear_call(model, &l->wo, *hidden));
    ms_tensor result = ms_locals_end(&f, hidden);
    tape->scope = previous;
    return result;
}

static ms_tensor mlp_part(ms_model *model, const ms_t5_layer *l, ms_tensor x)
{
    ms_tape *tape = model->tape;
    uint32_t previous = ms_scope_enter(tape, l->mlp_part.scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, x);
    ms_tensor *forwarded = ms_local(&f, norm(model, &l->mlp_part.norm, *hidden));
    ms_assign(&f, forwarded, mlp(model, l, *forwarded));
    ms_tensor dropped = ms_dropout(tape, *forwarded, model->config->residual_dropout);
    ms_assign(&f, hidden, ms_add(tape, *hidden, dropped));
    ms_tensor result = ms_locals_end(&f, hidden);
    tape->scope = previous;
    return result;
}

/* ---- layers ---- */

static ms_t5_stack *stack_of(const ms_model *model, uint64_t number)
{
    ms_t5 *t = model->modules;
    return number < t->decoder.first ? &t->encoder : &t->decoder;
}

/* Binds what attention handed back: the bias, and the probabilities, which the next ones replace.
 */
static void bind(ms_locals *f, const call *c, bool is_new, ms_tensor *bias, ms_tensor *weights)
{
    ms_assign(f, bias, c->bias);
    ms_assign(f, weights, c->weights);
    if (is_new)
        ms_release(f->tape, c->bias);
    ms_release(f->tape, c->weights);
}

static ms_tensor run_layer(ms_tape *tape, void *context, uint64_t number, ms_tensor input)
{
    ms_model *model = context;
    const ms_t5 *t = model->modules;
    const ms_t5_layer *l = &t->layers[number];
    ms_t5_stack *stack = stack_of(model, number);
    bool is_first = number == stack->first;
    uint32_t previous = ms_scope_enter(tape, l->scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, input);
    ms_tensor *bias = ms_local(&f, 0), *weights = ms_local(&f, 0), *cross = ms_local(&f, 0);
    call c = {.attention = &l->self,
              .stack = stack,
              .keys = stack->decodes ? ms_cache_keys(model, number) : stack->tokens,
              .layer = number,
              .bias = is_first ? 0 : stack->bias,
              .mask = stack->mask};
    ms_assign(&f, hidden, attention_part(model, &l->self_part, &c, *hidden));
    bind(&f, &c, is_first, bias, weights);
    if (stack->decodes) {
        c = (call){.attention = &l->cross,
                   .stack = stack,
                   .source = t->encoded,
                   .keys = t->encoder.tokens,
                   .layer = number,
                   .bias = is_first ? 0 : stack->cross,
                   .mask = stack->cross_mask};
        ms_assign(&f, hidden, attention_part(model, &l->cross_part, &c, *hidden));
        bind(&f, &c, is_first, cross, weights);
    }
    ms_assign(&f, hidden, mlp_part(model, l, *hidden));
    if (is_first) {
        ms_weights_hand_out(tape, *bias, &stack->handed[0]);
        ms_weights_hand_out(tape, *cross, &stack->handed[1]);
    }
    ms_tensor result = ms_locals_end(&f, hidden);
    tape->scope = previous;
    return result;
}

void ms_t5_run_layers(ms_model *model, ms_t5_stack *stack, ms_locals *f, ms_tensor *hidden)
{
    ms_tape *tape = model->tape;
    const ms_t5 *t = model->modules;
    ms_tensor *bias = ms_local(f, 0), *cross = ms_local(f, 0);
    stack->bias = stack->cross = 0;
    for (uint32_t i = 0; i < stack->count && tape->status == MS_OK; i++) {
        ms_region region = {.run = run_layer,
                            .context = model,
                            .number = stack->first + i,
                            .held = {stack->bias, stack->decodes ? t->encoded : 0, stack->cross,
                                     stack->mask, stack->cross_mask},
                            .saves_held = true};
        ms_assign(f, hidden, ms_layer_call(model, &region, *hidden));
        if (i > 0)
            continue;
        ms_assign(f, bias, stack->handed[0]);
        ms_assign(f, cross, stack->handed[1]);
        ms_release(tape, stack->handed[0]);
        ms_release(tape, stack->handed[1]);
        stack->bias = *bias;
        stack->cross = *cross;
    }
}
