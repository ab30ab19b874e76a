/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/recurrent/delta_rule.h"

#include "torch/ops/moe/experts.h"
#include "torch/ops/moe/routing.h"
#include "torch/ops/ops.h"

enum { CHUNK_TOKENS = 64 };

/* The function's locals, in its order. */
typedef struct rule {
    ms_tensor *query, *key, *value, *given_decay, *beta;
    ms_tensor *decay, *weighted_value, *weighted_key, *mask, *sums, *pairs, *system, *within;
    ms_tensor *decayed_key, *values, *decayed, *state, *out, *chunk_decay, *change, *across;
    ms_tensor *passing; /* kept by nodes that go with the last state */
} rule;

typedef struct chunks {
    ms_dim padded, count, tokens;
} chunks;

static chunks chunks_of(ms_model *model)
{
    ms_symbols *s = &model->tape->trace->symbols;
    chunks c = {.padded = ms_dim_ceil(s, model->seq, CHUNK_TOKENS)};
    c.count = ms_dim_number(s, c.padded.value / CHUNK_TOKENS);
    c.tokens = ms_dim_number(s, CHUNK_TOKENS);
    return c;
}

static void delta_rule_bind(rule *r, ms_locals *f, const ms_delta_inputs *in)
{
    ms_tensor **const arguments[] = {&r->query, &r->key, &r->value, &r->given_decay, &r->beta};
    const ms_tensor values[] = {in->query, in->key, in->value, in->decay, in->beta};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        *arguments[i] = ms_argument(f, values[i]);
    ms_tensor **const locals[] = {
        &r->decay,  &r->weighted_value, &r->weighted_key, &r->mask,   &r->sums,    &r->pairs,
        &r->system, &r->within,         &r->decayed_key,  &r->values, &r->decayed, &r->state,
        &r->out,    &r->chunk_decay,    &r->change,       &r->across, &r->passing};
    for (size_t i = 0; i < sizeof locals / sizeof *locals; i++)
        *locals[i] = ms_local(f, 0);
    ms_assign(f, r->decay, in->decay);
}

/* Assigns what a list was made of, once it is whole. */
static void assign_all(ms_locals *f, uint32_t count, ms_tensor *const *locals,
                       const ms_tensor *values)
{
    for (uint32_t i = 0; i < count; i++)
        ms_retain(f->tape, values[i]);
    for (uint32_t i = 0; i < count; i++)
        ms_assign(f, locals[i], values[i]);
    for (uint32_t i = 0; i < count; i++)
        ms_release(f->tape, values[i]);
}

/* Heads before tokens, in fp32. */
static void turn(ms_model *model, ms_locals *f, rule *r, ms_dim repeats)
{
    ms_tape *tape = model->tape;
    if (repeats.value > 1) {
        ms_assign(f, r->query, ms_repeat_each(tape, *r->query, 2, repeats));
        ms_assign(f, r->key, ms_repeat_each(tape, *r->key, 2, repeats));
    }
    ms_tensor *const all[] = {r->query, r->key, r->value, r->beta, r->decay};
    ms_tensor turned[5];
    for (uint32_t i = 0; i < 5; i++)
        turned[i] = ms_to_contiguous(tape, ms_transpose(tape, *all[i], 1, 2), MS_DTYPE_F32);
    assign_all(f, 5, all, turned);
}

/* x * rsqrt((x * x).sum(-1) + eps); the argument is a local of the caller. */
static ms_tensor normalised(ms_tape *tape, ms_tensor x)
{
    if (ms_idle(tape) || !x)
        return 0;
    uint32_t last = ms_info(tape, x)->shape.rank - 1;
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *input = ms_argument(&f, x);
    ms_tensor sum = ms_sum_dim(tape, ms_mul(tape, *input, *input), last, true);
    ms_tensor *inverse = ms_local(&f, ms_rsqrt(tape, ms_add_scalar(tape, sum)));
    ms_tensor out = ms_mul(tape, *input, *inverse);
    ms_retain(tape, out);
    ms_locals_end(&f, NULL);
    return ms_unown(tape, out);
}

static void pad(ms_model *model, ms_locals *f, rule *r, ms_dim length)
{
    ms_tape *tape = model->tape;
    ms_tensor *const heads[] = {r->query, r->key, r->value};
    ms_tensor *const scales[] = {r->beta, r->decay};
    ms_tensor padded[3];
    for (uint32_t i = 0; i < 3; i++)
        padded[i] = ms_pad(tape, *heads[i], 2, length);
    assign_all(f, 3, heads, padded);
    for (uint32_t i = 0; i < 2; i++)
        padded[i] = ms_pad(tape, *scales[i], 2, length);
    assign_all(f, 2, scales, padded);
}

static ms_tensor in_chunks(ms_tape *tape, ms_tensor x, const chunks *c)
{
    if (ms_idle(tape) || !x)
        return 0;
    ms_shape s = ms_info(tape, x)->shape;
    return s.rank == 3 ? ms_reshape(tape, x, MS_SHAPE(s.dims[0], s.dims[1], c->count, c->tokens))
                       : ms_reshape(tape, x,
                                    MS_SHAPE(s.dims[0], s.dims[1], c->count, c->tokens, s.dims[3]));
}

static void cut(ms_model *model, ms_locals *f, rule *r, const chunks *c)
{
    ms_tape *tape = model->tape;
    ms_assign(f, r->weighted_value, ms_mul(tape, *r->value, ms_unsqueeze(tape, *r->beta, 3)));
    ms_assign(f, r->weighted_key, ms_mul(tape, *r->key, ms_unsqueeze(tape, *r->beta, 3)));
    ms_tensor *const all[] = {r->query, r->key, r->weighted_key, r->weighted_value};
    ms_tensor pieces[4];
    for (uint32_t i = 0; i < 4; i++)
        pieces[i] = in_chunks(tape, *all[i], c);
    assign_all(f, 4, all, pieces);
    ms_assign(f, r->decay, in_chunks(tape, *r->decay, c));
    ms_assign(f, r->mask, ms_upper_mask(tape, c->tokens));
    ms_assign(f, r->sums, ms_cumsum_last(tape, *r->decay));
}

/* exp(x).unsqueeze(-1) of [B, V, chunks, tokens] */
static ms_tensor spread(ms_tape *tape, ms_tensor x)
{
    return ms_unsqueeze(tape, ms_exp(tape, x), 4);
}

static void run_within(ms_model *model, ms_locals *f, rule *r)
{
    ms_tape *tape = model->tape;
    ms_tensor columns = ms_unsqueeze(tape, *r->sums, 4);
    ms_assign(f, r->pairs, ms_sub(tape, columns, ms_unsqueeze(tape, *r->sums, 3)));
    ms_assign(f, r->pairs, ms_masked_fill(tape, *r->pairs, *r->mask));
    ms_assign(f, r->pairs, ms_exp(tape, *r->pairs));
    ms_tensor product = ms_matmul(tape, *r->weighted_key, ms_transpose(tape, *r->key, 3, 4));
    ms_assign(f, r->system, ms_mul(tape, product, *r->pairs));
    product = ms_matmul(tape, *r->query, ms_transpose(tape, *r->key, 3, 4));
    ms_assign(f, r->within, ms_mul(tape, product, *r->pairs));
    ms_assign(f, r->decayed_key, ms_mul(tape, *r->weighted_key, spread(tape, *r->sums)));
    ms_assign(f, r->values, ms_solve_triangular(tape, *r->system, *r->weighted_value));
    ms_assign(f, r->decayed, ms_solve_triangular(tape, *r->system, *r->decayed_key));
}

/* Whether nodes made here keep their tensors: none in forward of a checkpoint does. */
static bool keeps_nodes(const ms_tape *tape, bool grad_enabled)
{
    return grad_enabled && ms_hooks_saving(tape) == MS_SAVING_TENSORS;
}

static void decay_all(ms_model *model, ms_locals *f, rule *r, ms_shape state, bool is_one)
{
    ms_tape *tape = model->tape;
    bool grad_enabled = tape->grad_enabled;
    ms_assign(f, r->state, ms_empty(tape, state, MS_DTYPE_F32));
    ms_assign(f, r->out, ms_zeros_like(tape, *r->values));
    ms_assign(f, r->query, ms_mul(tape, *r->query, spread(tape, *r->sums)));
    if (is_one) /* whose state is dropped: no gradient comes to what makes it */
        tape->grad_enabled = false;
    ms_tensor last = ms_narrow(tape, *r->sums, 3, ms_dim_number(&tape->trace->symbols, 1));
    ms_tensor left = ms_exp(tape, ms_sub(tape, last, *r->sums));
    if (is_one && keeps_nodes(tape, grad_enabled))
        ms_assign(f, r->passing, left);
    ms_assign(f, r->key, ms_mul(tape, *r->key, ms_unsqueeze(tape, left, 4)));
    ms_tensor whole = ms_exp(tape, ms_select(tape, *r->sums, 3));
    ms_assign(f, r->chunk_decay, ms_unsqueeze(tape, ms_unsqueeze(tape, whole, 3), 4));
    tape->grad_enabled = grad_enabled;
    if (!is_one)
        return;
    ms_save_in_passing(tape, *r->passing);
    ms_save_in_passing(tape, *r->chunk_decay);
    if (!tape->has_autocast)
        ms_save_in_passing(tape, *r->key);
}

/* A chunk's output. */
static void run_chunk(ms_model *model, ms_locals *f, rule *r)
{
    ms_tape *tape = model->tape;
    ms_tensor values = ms_select(tape, *r->values, 2);
    ms_tensor known = ms_matmul(tape, ms_select(tape, *r->decayed, 2), *r->state);
    ms_assign(f, r->change, ms_sub(tape, values, known));
    ms_assign(f, r->across, ms_matmul(tape, ms_select(tape, *r->query, 2), *r->state));
    ms_tensor within = ms_matmul(tape, ms_select(tape, *r->within, 2), *r->change);
    ms_tensor sum = ms_add(tape, *r->across, within);
    ms_assign(f, r->out, ms_copy_into(tape, *r->out, sum));
}

/* The state it hands on. */
static void hand_on(ms_model *model, ms_locals *f, rule *r)
{
    ms_tape *tape = model->tape;
    ms_tensor kept = ms_mul(tape, *r->state, ms_select(tape, *r->chunk_decay, 2));
    ms_tensor keys = ms_transpose(tape, ms_select(tape, *r->key, 2), 2, 3);
    ms_tensor learned = ms_matmul(tape, keys, *r->change);
    ms_assign(f, r->state, ms_add(tape, kept, learned));
}

/* kept + learned; what the products read is held until the caller lets go of it. */
static void sum_last(ms_model *model, ms_locals *f, rule *r, ms_tensor held[3])
{
    ms_tape *tape = model->tape;
    bool grad_enabled = tape->grad_enabled;
    bool keeps = keeps_nodes(tape, grad_enabled);
    ms_tensor keys = ms_transpose(tape, ms_select(tape, *r->key, 2), 2, 3), change = *r->change;
    tape->grad_enabled = false;
    ms_tensor kept = ms_mul(tape, *r->state, ms_select(tape, *r->chunk_decay, 2));
    if (keeps && tape->has_autocast) {
        held[0] = change = ms_autocast_lower(tape, change);
        held[1] = keys = ms_autocast_lower(tape, keys);
        held[2] = *r->state;
    }
    tape->grad_enabled = grad_enabled;
    for (size_t i = 0; i < 3; i++) {
        ms_save_in_passing(tape, held[i]);
        ms_retain(tape, held[i]);
    }
    tape->grad_enabled = false;
    ms_assign(f, r->state, ms_add(tape, kept, ms_matmul(tape, keys, change)));
    tape->grad_enabled = grad_enabled;
}

/* The state of the last chunk is dropped, and its nodes with it: no gradient comes here. What is
 * not kept for others goes with them. */
static void drop_last(ms_model *model, ms_locals *f, rule *r)
{
    ms_tensor held[3] = {0};
    sum_last(model, f, r, held);
    for (size_t i = 0; i < 3; i++)
        ms_release(model->tape, held[i]);
    ms_assign(f, r->passing, 0);
    ms_assign(f, r->state, 0);
}

ms_tensor ms_delta_rule(ms_model *model, const ms_delta_inputs *inputs)
{
    ms_tape *tape = model->tape;
    if (ms_idle(tape) || !inputs->query)
        return 0;
    const ms_tensor_info query = *ms_info(tape, inputs->query),
                         value = *ms_info(tape, inputs->value);
    const ms_dim key_heads = query.shape.dims[2], heads = value.shape.dims[2];
    const ms_dim width = value.shape.dims[3];
    const ms_shape state = MS_SHAPE(model->batch, heads, query.shape.dims[3], width);
    const chunks c = chunks_of(model);
    rule r = {0};
    ms_locals f = ms_locals_begin(tape);
    delta_rule_bind(&r, &f, inputs);
    turn(model, &f, &r, ms_dim_number(&tape->trace->symbols, heads.value / key_heads.value));
    ms_assign(&f, r.query, normalised(tape, *r.query));
    ms_assign(&f, r.key, normalised(tape, *r.key));
    ms_assign(&f, r.query, ms_mul_scalar(tape, *r.query));
    pad(model, &f, &r, c.padded);
    cut(model, &f, &r, &c);
    run_within(model, &f, &r);
    decay_all(model, &f, &r, state, c.count.value == 1);
    for (uint64_t i = 0; i < c.count.value && !ms_idle(tape); i++) {
        run_chunk(model, &f, &r);
        if (i + 1 < c.count.value)
            hand_on(model, &f, &r);
    }
    drop_last(model, &f, &r);
    ms_assign(&f, r.out, ms_reshape(tape, *r.out, MS_SHAPE(model->batch, heads, c.padded, width)));
    if (c.padded.value != model->seq.value)
        ms_assign(&f, r.out, ms_narrow(tape, *r.out, 2, model->seq));
    ms_assign(&f, r.out,
              ms_to_contiguous(tape, ms_transpose(tape, *r.out, 1, 2), (ms_dtype)query.dtype));
    return ms_locals_end(&f, r.out);
}
