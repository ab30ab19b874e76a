/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/recurrent/delta_net.h"

#include "input/config/model/model_config.h"
#include "model/recurrent/state_cache.h"
#include "torch/ops/moe/experts.h"
#include "torch/ops/moe/routing.h"
#include "torch/ops/ops.h"

/* ---- delta ---- */

/* Heads and their widths; `repeats`: value heads per key head. */
typedef struct ms_delta_dims {
    ms_dim key_heads, value_heads, repeats, key_dim, value_dim;
} ms_delta_dims;

/* Inputs of the rule (delta_rule.c): query and key [B, S, K, Dk], value [B, S, V, Dv], decay and
 * beta [B, S, V]; its result is [B, S, V, Dv]. They are locals of the caller. */
typedef struct ms_delta_inputs {
    ms_tensor query, key, value, decay, beta;
} ms_delta_inputs;

/* ---- delta rule ---- */

/* The gated delta rule by chunks, in fp32: first the computation within chunks, for all chunks at
 * once; then a loop over chunks, which carries a state. */

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
static void turn(ms_model *model, ms_locals *f, rule *r, const ms_delta_dims *dims)
{
    ms_tape *tape = model->tape;
    if (dims->repeats.value > 1) {
        ms_assign(f, r->query, ms_repeat_each(tape, *r->query, 2, dims->repeats));
        ms_assign(f, r->key, ms_repeat_each(tape, *r->key, 2, dims->repeats));
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

static void decay_all(ms_model *model, ms_locals *f, rule *r, const ms_delta_dims *dims,
                      bool is_one)
{
    ms_tape *tape = model->tape;
    bool grad_enabled = tape->grad_enabled;
    ms_shape shape = MS_SHAPE(model->batch, dims->value_heads, dims->key_dim, dims->value_dim);
    ms_assign(f, r->state, ms_empty(tape, shape, MS_DTYPE_F32));
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

static ms_tensor delta_rule(ms_model *model, const ms_delta_dims *dims,
                            const ms_delta_inputs *inputs)
{
    ms_tape *tape = model->tape;
    if (ms_idle(tape) || !inputs->query)
        return 0;
    ms_dtype dtype = (ms_dtype)ms_info(tape, inputs->query)->dtype;
    const chunks c = chunks_of(model);
    rule r = {0};
    ms_locals f = ms_locals_begin(tape);
    delta_rule_bind(&r, &f, inputs);
    turn(model, &f, &r, dims);
    ms_assign(&f, r.query, normalised(tape, *r.query));
    ms_assign(&f, r.key, normalised(tape, *r.key));
    ms_assign(&f, r.query, ms_mul_scalar(tape, *r.query));
    pad(model, &f, &r, c.padded);
    cut(model, &f, &r, &c);
    run_within(model, &f, &r);
    decay_all(model, &f, &r, dims, c.count.value == 1);
    for (uint64_t i = 0; i < c.count.value && !ms_idle(tape); i++) {
        run_chunk(model, &f, &r);
        if (i + 1 < c.count.value)
            hand_on(model, &f, &r);
    }
    drop_last(model, &f, &r);
    ms_shape padded = MS_SHAPE(model->batch, dims->value_heads, c.padded, dims->value_dim);
    ms_assign(&f, r.out, ms_reshape(tape, *r.out, padded));
    if (c.padded.value != model->seq.value)
        ms_assign(&f, r.out, ms_narrow(tape, *r.out, 2, model->seq));
    ms_assign(&f, r.out, ms_to_contiguous(tape, ms_transpose(tape, *r.out, 1, 2), dtype));
    return ms_locals_end(&f, r.out);
}

/* ---- delta net ---- */

typedef struct delta_net {
    uint32_t scope;
    ms_delta_form form;
    ms_delta_dims dims;
    ms_linear_module projections[4]; /* qkvz and ba, or qkv, z, b and a */
    ms_convolution_module convolution;
    ms_tensor dt_bias, a_log;
    ms_norm_module norm;
    ms_linear_module out_proj;
} delta_net;

/* ---- construction ---- */

static ms_delta_dims dims_of(ms_model *model)
{
    ms_symbols *s = &model->tape->trace->symbols;
    const ms_model_config *c = model->config;
    ms_delta_dims d = {.key_heads = ms_dim_name(s, "Lk", c->linear_key_heads),
                       .value_heads = ms_dim_name(s, "Lv", c->linear_value_heads),
                       .key_dim = ms_dim_name(s, "Dk", c->linear_key_dim),
                       .value_dim = ms_dim_name(s, "Dv", c->linear_value_dim)};
    d.repeats = ms_dim_number(s, c->linear_value_heads / c->linear_key_heads);
    return d;
}

static ms_dim keys_width(ms_model *model, const ms_delta_dims *d)
{
    return ms_dim_mul(&model->tape->trace->symbols, d->key_heads, d->key_dim);
}

static ms_dim values_width(ms_model *model, const ms_delta_dims *d)
{
    return ms_dim_mul(&model->tape->trace->symbols, d->value_heads, d->value_dim);
}

/* Of query, key and value side by side. */
static ms_dim mixed_width(ms_model *model, const ms_delta_dims *d)
{
    ms_symbols *s = &model->tape->trace->symbols;
    ms_dim keys = ms_dim_mul(s, ms_dim_number(s, 2), keys_width(model, d));
    return ms_dim_add(s, keys, values_width(model, d));
}

static void build_projections(ms_model *model, delta_net *n)
{
    ms_symbols *s = &model->tape->trace->symbols;
    ms_dim hidden = model->hidden, heads = n->dims.value_heads;
    ms_dim mixed = mixed_width(model, &n->dims), values = values_width(model, &n->dims);
    if (n->form == MS_DELTA_BY_HEADS) {
        ms_dim all = ms_dim_add(s, mixed, values);
        ms_dim both = ms_dim_mul(s, ms_dim_number(s, 2), heads);
        n->projections[0] = ms_linear_new(model, n->scope, "in_proj_qkvz", hidden, all, false);
        n->projections[1] = ms_linear_new(model, n->scope, "in_proj_ba", hidden, both, false);
        return;
    }
    n->projections[0] = ms_linear_new(model, n->scope, "in_proj_qkv", hidden, mixed, false);
    n->projections[1] = ms_linear_new(model, n->scope, "in_proj_z", hidden, values, false);
    n->projections[2] = ms_linear_new(model, n->scope, "in_proj_b", hidden, heads, false);
    n->projections[3] = ms_linear_new(model, n->scope, "in_proj_a", hidden, heads, false);
}

static void build_decays(ms_model *model, delta_net *n, uint32_t first)
{
    ms_shape shape = MS_SHAPE(n->dims.value_heads);
    n->dt_bias = ms_parameter_new(model, n->scope, "dt_bias", shape);
    ms_parameter_move_last(model, first);
    n->a_log = ms_parameter_new(model, n->scope, "A_log", shape);
    ms_parameter_move_last(model, first + 1);
}

void *ms_delta_net_new(ms_model *model, ms_delta_form form, uint32_t parent)
{
    ms_tape *tape = model->tape;
    delta_net *n = ms_arena_array(model->arena, delta_net, 1);
    if (!n)
        return NULL;
    uint32_t first = tape->parameters.count;
    *n = (delta_net){.form = form, .dims = dims_of(model)};
    n->scope = ms_scope_add(tape, parent, "linear_attn", MS_NONE);
    ms_dim width = ms_dim_number(&tape->trace->symbols, model->config->convolution_width);
    n->convolution =
        ms_convolution_new(model, n->scope, "conv1d", mixed_width(model, &n->dims), width, false);
    if (form == MS_DELTA_BY_HEADS)
        build_projections(model, n);
    build_decays(model, n, first);
    n->norm = ms_norm_new(model, n->scope, "norm", n->dims.value_dim, false);
    n->out_proj = ms_linear_new(model, n->scope, "out_proj", values_width(model, &n->dims),
                                model->hidden, false);
    if (form == MS_DELTA_BY_PARTS)
        build_projections(model, n);
    return n;
}

/* ---- forward ---- */

/* The function's locals that outlive a piece of it. */
typedef struct net {
    const delta_net *n;
    ms_locals *f;
    ms_tensor *hidden, *all, *both; /* what one product yields, and the other; by heads only */
    ms_tensor *query, *key, *value, *z, *b, *a, *mixed, *beta, *decay;
} net;

/* In the order of the form's function. */
static void bind(net *t)
{
    ms_tensor **const by_heads[] = {&t->all, &t->both, &t->query, &t->key,  &t->value, &t->z,
                                    &t->b,   &t->a,    &t->mixed, &t->beta, &t->decay};
    ms_tensor **const by_parts[] = {&t->mixed, &t->z,    &t->b,     &t->a,   &t->query, &t->key,
                                    &t->value, &t->beta, &t->decay, &t->all, &t->both};
    enum { LOCALS = sizeof by_heads / sizeof *by_heads };
    for (size_t i = 0; i < LOCALS; i++)
        *(t->n->form == MS_DELTA_BY_HEADS ? by_heads : by_parts)[i] = ms_local(t->f, 0);
}

static ms_shape with_heads(ms_model *model, ms_dim heads, ms_dim width)
{
    return MS_SHAPE(model->batch, model->seq, heads, width);
}

static ms_shape flat(ms_model *model, ms_dim width)
{
    return MS_SHAPE(model->batch, model->seq, width);
}

/* fix_query_key_value_ordering: the parts of each key head's slice, those of values head by head.
 */
static void take_apart(ms_model *model, net *t, ms_tensor all, ms_tensor both)
{
    ms_tape *tape = model->tape;
    ms_symbols *s = &tape->trace->symbols;
    const ms_delta_dims *d = &t->n->dims;
    ms_dim values = ms_dim_mul(s, d->repeats, d->value_dim);
    ms_dim two = ms_dim_number(s, 2), one = ms_dim_mul(s, two, d->key_dim);
    ms_dim slice = ms_dim_add(s, one, ms_dim_mul(s, two, values));
    const ms_dim lengths[] = {d->key_dim, d->key_dim, values, values};
    const ms_dim few[] = {d->repeats, d->repeats};
    ms_tensor parts[4], scales[2];
    all = ms_view(tape, all, with_heads(model, d->key_heads, slice));
    both = ms_view(tape, both, with_heads(model, d->key_heads, ms_dim_mul(s, two, d->repeats)));
    ms_split_into(tape, all, 4, lengths, parts);
    ms_split_into(tape, both, 2, few, scales);
    ms_shape heads = with_heads(model, d->value_heads, d->value_dim);
    ms_assign(t->f, t->query, parts[0]);
    ms_assign(t->f, t->key, parts[1]);
    ms_assign(t->f, t->value, ms_reshape(tape, parts[2], heads));
    ms_assign(t->f, t->z, ms_reshape(tape, parts[3], heads));
    ms_assign(t->f, t->b, ms_reshape(tape, scales[0], flat(model, d->value_heads)));
    ms_assign(t->f, t->a, ms_reshape(tape, scales[1], flat(model, d->value_heads)));
}

static void project_by_heads(ms_model *model, net *t)
{
    ms_tape *tape = model->tape;
    const ms_delta_dims *d = &t->n->dims;
    const ms_linear_module *p = t->n->projections;
    ms_assign(t->f, t->all, ms_linear_call(model, &p[0], *t->hidden));
    ms_assign(t->f, t->both, ms_linear_call(model, &p[1], *t->hidden));
    take_apart(model, t, *t->all, *t->both);
    ms_dim keys = keys_width(model, d);
    ms_assign(t->f, t->query, ms_reshape(tape, *t->query, flat(model, keys)));
    ms_assign(t->f, t->key, ms_reshape(tape, *t->key, flat(model, keys)));
    ms_assign(t->f, t->value, ms_reshape(tape, *t->value, flat(model, values_width(model, d))));
    const ms_tensor parts[] = {*t->query, *t->key, *t->value};
    ms_assign(t->f, t->mixed, ms_cat3(tape, parts, 2));
    ms_assign(t->f, t->mixed, ms_transpose(tape, *t->mixed, 1, 2));
}

static void project_by_parts(ms_model *model, net *t)
{
    ms_tape *tape = model->tape;
    const ms_delta_dims *d = &t->n->dims;
    const ms_linear_module *p = t->n->projections;
    ms_assign(t->f, t->mixed, ms_linear_call(model, &p[0], *t->hidden));
    ms_assign(t->f, t->mixed, ms_transpose(tape, *t->mixed, 1, 2));
    ms_assign(t->f, t->z, ms_linear_call(model, &p[1], *t->hidden));
    ms_shape heads = with_heads(model, d->value_heads, d->value_dim);
    ms_assign(t->f, t->z, ms_reshape(tape, *t->z, heads));
    ms_assign(t->f, t->b, ms_linear_call(model, &p[2], *t->hidden));
    ms_assign(t->f, t->a, ms_linear_call(model, &p[3], *t->hidden));
}

static void mix(ms_model *model, net *t)
{
    ms_tape *tape = model->tape;
    const ms_delta_dims *d = &t->n->dims;
    const ms_dim keys = keys_width(model, d);
    const ms_dim lengths[] = {keys, keys, values_width(model, d)};
    ms_tensor parts[3];
    ms_assign(t->f, t->mixed,
              ms_convolution_call(model, &t->n->convolution, model->config->activation, *t->mixed));
    ms_assign(t->f, t->mixed, ms_transpose(tape, *t->mixed, 1, 2));
    ms_split_into(tape, *t->mixed, 3, lengths, parts);
    ms_shape heads = with_heads(model, d->key_heads, d->key_dim);
    ms_assign(t->f, t->query, parts[0]);
    ms_assign(t->f, t->key, parts[1]);
    ms_assign(t->f, t->value, parts[2]);
    ms_assign(t->f, t->query, ms_reshape(tape, *t->query, heads));
    ms_assign(t->f, t->key, ms_reshape(tape, *t->key, heads));
    ms_assign(t->f, t->value,
              ms_reshape(tape, *t->value, with_heads(model, d->value_heads, d->value_dim)));
}

/* -A_log.float().exp() * softplus(a.float() + dt_bias) */
static ms_tensor decay_of(ms_model *model, const delta_net *n, ms_tensor a)
{
    ms_tape *tape = model->tape;
    if (ms_idle(tape) || !a)
        return 0;
    ms_tensor rate = ms_neg(tape, ms_exp(tape, ms_to(tape, n->a_log, MS_DTYPE_F32)));
    ms_tensor step = ms_add(tape, ms_to(tape, a, MS_DTYPE_F32), n->dt_bias);
    return ms_mul(tape, rate, ms_softplus(tape, step));
}

/* weight * norm(x) * silu(gate), both arguments the caller's locals */
static ms_tensor gated_norm(ms_model *model, const ms_norm_module *norm, ms_tensor x,
                            ms_tensor gate)
{
    ms_tape *tape = model->tape;
    if (ms_idle(tape) || !x)
        return 0;
    uint32_t previous = ms_scope_enter(tape, norm->scope);
    ms_dtype dtype = (ms_dtype)ms_info(tape, x)->dtype;
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, x);
    ms_tensor *other = ms_argument(&f, gate);
    ms_assign(&f, hidden, ms_to(tape, *hidden, MS_DTYPE_F32));
    ms_tensor *variance = ms_local(&f, ms_mean_last(tape, ms_pow(tape, *hidden)));
    ms_tensor scale = ms_rsqrt(tape, ms_add_scalar(tape, *variance));
    ms_assign(&f, hidden, ms_mul(tape, *hidden, scale));
    ms_assign(&f, hidden, ms_mul(tape, norm->weight, ms_to(tape, *hidden, dtype)));
    ms_tensor opened = ms_silu(tape, ms_to(tape, *other, MS_DTYPE_F32));
    ms_assign(&f, hidden, ms_mul(tape, *hidden, opened));
    ms_tensor out = ms_to(tape, *hidden, dtype);
    ms_retain(tape, out);
    ms_locals_end(&f, NULL);
    tape->scope = previous;
    return ms_unown(tape, out);
}

static ms_tensor finish(ms_model *model, net *t, ms_tensor *core)
{
    ms_tape *tape = model->tape;
    ms_symbols *s = &tape->trace->symbols;
    const ms_delta_dims *d = &t->n->dims;
    ms_dim rows = ms_dim_mul(s, ms_dim_mul(s, model->batch, model->seq), d->value_heads);
    ms_shape by_head = MS_SHAPE(rows, d->value_dim);
    ms_assign(t->f, core, ms_reshape(tape, *core, by_head));
    ms_assign(t->f, t->z, ms_reshape(tape, *t->z, by_head));
    ms_assign(t->f, core, gated_norm(model, &t->n->norm, *core, *t->z));
    ms_assign(t->f, core, ms_reshape(tape, *core, flat(model, values_width(model, d))));
    return ms_linear_call(model, &t->n->out_proj, *core);
}

ms_tensor ms_delta_net(ms_model *model, const void *module, ms_tensor x)
{
    ms_tape *tape = model->tape;
    const delta_net *n = module;
    uint32_t previous = ms_scope_enter(tape, n->scope);
    ms_locals f = ms_locals_begin(tape);
    net t = {.n = n, .f = &f, .hidden = ms_argument(&f, x)};
    bind(&t);
    if (n->form == MS_DELTA_BY_HEADS)
        project_by_heads(model, &t);
    else
        project_by_parts(model, &t);
    mix(model, &t);
    ms_assign(&f, t.beta, ms_sigmoid(tape, *t.b));
    ms_assign(&f, t.decay, decay_of(model, n, *t.a));
    const ms_delta_inputs inputs = {*t.query, *t.key, *t.value, *t.decay, *t.beta};
    ms_tensor *core = ms_local(&f, delta_rule(model, &n->dims, &inputs));
    ms_tensor *out = ms_local(&f, finish(model, &t, core));
    ms_tensor result = ms_locals_end(&f, out);
    tape->scope = previous;
    return result;
}
