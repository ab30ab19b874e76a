/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/recurrent/mamba2_mixer.h"

#include "input/config/model/model_config.h"
#include "model/blocks/blocks.h"
#include "model/blocks/cache.h"
#include "model/recurrent/state_cache.h"
#include "torch/ops/einsum.h"
#include "torch/ops/moe/routing.h"
#include "torch/ops/ops.h"

/* ---- chunk scan ---- */

/* The scan of mamba2 over chunks of the sequence. */

/* Inputs are locals of the caller: hidden [B, S, heads, width], step [B, S, heads], decay [heads],
 * key and query [B, S, groups, N]. `direct` and `step_bias` are parameters, [heads]. The result is
 * [B, S, heads, width] in fp32. *last: the state at the end,
 * [B, heads, width, N], retained; 0 without a cache, where it goes with the other locals. */
typedef struct ms_scan_inputs {
    ms_tensor hidden, step, decay, key, query, direct, step_bias;
} ms_scan_inputs;

/* The function's locals, in its order. */
typedef struct chunk_scan_scan {
    ms_tensor *hidden, *step, *decay, *key, *query, *residual, *sums, *within, *scores, *weighted,
        *direct, *left_over, *decayed_key, *states, *before, *between, *carried, *last, *reach,
        *seen, *across, *out;
    ms_dim padded, chunks, tokens; /* of the sequence; number of chunks; tokens of one */
} chunk_scan_scan;

static void bind(ms_model *model, ms_locals *f, const ms_scan_inputs *in, chunk_scan_scan *s)
{
    ms_symbols *symbols = &model->tape->trace->symbols;
    const uint64_t each = model->config->scan_chunk;
    *s = (chunk_scan_scan){.padded = ms_dim_ceil(symbols, model->seq, each)};
    s->chunks = ms_dim_number(symbols, s->padded.value / each);
    s->tokens = ms_dim_number(symbols, each);
    ms_tensor **const arguments[] = {&s->hidden, &s->step, &s->decay, &s->key, &s->query};
    const ms_tensor values[] = {in->hidden, in->step, in->decay, in->key, in->query};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        *arguments[i] = ms_local(f, values[i]);
    ms_tensor **const locals[] = {
        &s->residual,  &s->sums,        &s->within, &s->scores, &s->weighted, &s->direct,
        &s->left_over, &s->decayed_key, &s->states, &s->before, &s->between,  &s->carried,
        &s->last,      &s->reach,       &s->seen,   &s->across, &s->out};
    for (size_t i = 0; i < sizeof locals / sizeof *locals; i++)
        *locals[i] = ms_local(f, 0);
}

/* ~tril(ones([N, N])); *kept is the triangle, a local of the caller. */
static ms_tensor outside(ms_tape *tape, ms_locals *f, ms_tensor *kept, ms_dim tokens)
{
    ms_assign(f, kept, ms_upper_mask(tape, tokens)); /* as much memory as the lower one */
    return ms_idle(tape) ? 0 : ms_empty_like(tape, *kept, MS_DTYPE_BOOL);
}

/* segment_sum: [.., N] to [.., N, N]; it owns `x` if that floats. */
static ms_tensor segment_sum(ms_tape *tape, ms_tensor x)
{
    if (ms_idle(tape) || !x)
        return 0;
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *input = ms_local(&f, x);
    ms_shape shape = ms_info(tape, x)->shape;
    const ms_dim tokens = shape.dims[shape.rank - 1];
    ms_tensor seen = ms_unsqueeze(tape, *input, shape.rank);
    shape.dims[shape.rank++] = tokens;
    ms_assign(&f, input, ms_expand(tape, seen, shape));
    ms_tensor *mask = ms_local(&f, 0);
    ms_tensor *sums = ms_local(&f, 0);
    ms_tensor other = outside(tape, &f, mask, tokens);
    ms_assign(&f, input, ms_masked_fill(tape, *input, other));
    ms_assign(&f, sums, ms_cumsum_last(tape, *input)); /* along the last dimension but one */
    other = outside(tape, &f, mask, tokens);
    ms_assign(&f, sums, ms_masked_fill(tape, *sums, other));
    ms_tensor out = *sums;
    ms_retain(tape, out);
    ms_locals_end(&f, NULL);
    return ms_unown(tape, out);
}

/* The tensor padded and cut into chunks: [B, S, ..] to [B, C, L, ..]. */
static ms_tensor in_chunks(ms_tape *tape, const chunk_scan_scan *s, ms_tensor x)
{
    if (ms_idle(tape) || !x)
        return 0;
    const ms_shape shape = ms_info(tape, x)->shape;
    ms_tensor padded = ms_pad(tape, x, 1, s->padded);
    const ms_dim *d = shape.dims;
    return ms_reshape(tape, padded,
                      shape.rank == 3 ? MS_SHAPE(d[0], s->chunks, s->tokens, d[2])
                                      : MS_SHAPE(d[0], s->chunks, s->tokens, d[2], d[3]));
}

/* Step, and hidden, key and query in fp32; key and query of each head. */
static void prepare(ms_model *model, ms_locals *f, const ms_scan_inputs *in, chunk_scan_scan *s)
{
    ms_tape *tape = model->tape;
    if (ms_idle(tape))
        return;
    ms_dtype dtype = (ms_dtype)ms_info(tape, *s->step)->dtype;
    const ms_model_config *c = model->config;
    ms_dim repeats = ms_dim_number(&tape->trace->symbols, c->scan_heads / c->state_groups);
    ms_assign(f, s->step, ms_add(tape, *s->step, ms_to(tape, in->step_bias, dtype)));
    ms_assign(f, s->step, ms_softplus(tape, *s->step));
    ms_assign(f, s->step, ms_clamp(tape, *s->step, 2));
    ms_assign(f, s->hidden, ms_to(tape, *s->hidden, MS_DTYPE_F32));
    ms_tensor *const states[] = {s->key, s->query};
    for (int i = 0; i < 2; i++)
        ms_assign(f, states[i],
                  ms_repeat_each(tape, ms_to(tape, *states[i], MS_DTYPE_F32), 2, repeats));
    ms_tensor padded = ms_pad(tape, *s->hidden, 1, s->padded);
    ms_assign(f, s->residual, ms_mul(tape, ms_unsqueeze(tape, in->direct, 1), padded));
    ms_tensor wide = ms_idle(tape) ? 0 : ms_to(tape, ms_unsqueeze(tape, *s->step, 3), MS_DTYPE_F32);
    ms_assign(f, s->hidden, ms_mul(tape, *s->hidden, wide));
    ms_tensor rate = ms_idle(tape) ? 0 : ms_to(tape, *s->decay, MS_DTYPE_F32);
    wide = ms_idle(tape) ? 0 : ms_to(tape, *s->step, MS_DTYPE_F32);
    ms_assign(f, s->decay, ms_mul(tape, rate, wide));
}

/* Chunks of all four, made before any replaces what it is made of. */
static void cut(ms_tape *tape, ms_locals *f, chunk_scan_scan *s)
{
    static const uint32_t heads_first[] = {0, 3, 1, 2};
    ms_tensor *const all[] = {s->hidden, s->decay, s->key, s->query};
    ms_tensor pieces[4];
    for (int i = 0; i < 4; i++) {
        pieces[i] = in_chunks(tape, s, *all[i]);
        ms_retain(tape, pieces[i]);
    }
    for (int i = 0; i < 4; i++) {
        ms_assign(f, all[i], pieces[i]);
        ms_release(tape, pieces[i]);
    }
    ms_assign(f, s->decay, ms_permute(tape, *s->decay, heads_first));
    ms_assign(f, s->sums, ms_cumsum_last(tape, *s->decay));
}

static void run_within(ms_tape *tape, ms_locals *f, chunk_scan_scan *s)
{
    static const uint32_t chunks_first[] = {0, 2, 3, 4, 1};
    ms_assign(f, s->within, ms_exp(tape, segment_sum(tape, *s->decay)));
    ms_assign(f, s->scores, ms_einsum(tape, "bclhn,bcshn->bclsh", *s->query, *s->key));
    ms_tensor mask = ms_permute(tape, *s->within, chunks_first);
    ms_assign(f, s->weighted, ms_mul(tape, *s->scores, mask));
    ms_assign(f, s->direct, ms_einsum(tape, "bclsh,bcshp->bclhp", *s->weighted, *s->hidden));
}

/* [B, heads, C, L] as [B, C, L, heads, 1] */
static ms_tensor of_tokens(ms_tape *tape, ms_tensor x)
{
    static const uint32_t tokens_first[] = {0, 2, 3, 1};
    return ms_unsqueeze(tape, ms_permute(tape, x, tokens_first), 4);
}

static void make_states(ms_tape *tape, ms_locals *f, chunk_scan_scan *s)
{
    ms_dim one = ms_dim_number(&tape->trace->symbols, 1);
    ms_tensor end = ms_narrow(tape, *s->sums, 3, one);
    ms_assign(f, s->left_over, ms_exp(tape, ms_sub(tape, end, *s->sums)));
    ms_assign(f, s->decayed_key, ms_mul(tape, *s->key, of_tokens(tape, *s->left_over)));
    ms_assign(f, s->states, ms_einsum(tape, "bclhn,bclhp->bchpn", *s->decayed_key, *s->hidden));
    ms_tensor first = ms_narrow(tape, *s->states, 1, one);
    ms_assign(f, s->before, ms_zeros_like(tape, first));
    ms_consume(tape, first);
    ms_assign(f, s->states, ms_cat2(tape, *s->before, *s->states, 1));
}

/* The states that each chunk begins with. */
static void carry(ms_tape *tape, ms_locals *f, chunk_scan_scan *s)
{
    ms_dim more =
        ms_dim_add(&tape->trace->symbols, s->chunks, ms_dim_number(&tape->trace->symbols, 1));
    ms_tensor ends = ms_pad(tape, ms_select(tape, *s->sums, 3), 2, more);
    ms_assign(f, s->between, ms_transpose(tape, ms_exp(tape, segment_sum(tape, ends)), 1, 3));
    ms_assign(f, s->carried, ms_einsum(tape, "bzch,bzhpn->bchpn", *s->between, *s->states));
    ms_assign(f, s->states, ms_narrow(tape, *s->carried, 1, s->chunks));
    ms_assign(f, s->last, ms_select(tape, *s->carried, 1));
    ms_assign(f, s->reach, ms_exp(tape, *s->sums));
    ms_assign(f, s->seen, ms_einsum(tape, "bclhn,bchpn->bclhp", *s->query, *s->states));
    ms_assign(f, s->across, ms_mul(tape, *s->seen, of_tokens(tape, *s->reach)));
}

static void add_up(ms_model *model, ms_locals *f, chunk_scan_scan *s)
{
    ms_tape *tape = model->tape;
    if (ms_idle(tape))
        return;
    ms_shape shape = ms_info(tape, *s->hidden)->shape;
    ms_assign(f, s->out, ms_contiguous(tape, ms_add(tape, *s->direct, *s->across)));
    ms_assign(f, s->out,
              ms_reshape(tape, *s->out,
                         MS_SHAPE(shape.dims[0], s->padded, shape.dims[3], shape.dims[4])));
    ms_assign(f, s->out, ms_add(tape, *s->out, *s->residual));
    if (s->padded.value != model->seq.value)
        ms_assign(f, s->out, ms_narrow(tape, *s->out, 1, model->seq));
}

static ms_tensor chunk_scan(ms_model *model, const ms_scan_inputs *inputs, ms_tensor *last)
{
    ms_tape *tape = model->tape;
    chunk_scan_scan s;
    ms_locals f = ms_locals_begin(tape);
    bind(model, &f, inputs, &s);
    prepare(model, &f, inputs, &s);
    cut(tape, &f, &s);
    run_within(tape, &f, &s);
    make_states(tape, &f, &s);
    carry(tape, &f, &s);
    add_up(model, &f, &s);
    ms_tensor out = *s.out;
    ms_retain(tape, out);
    *last = ms_idle(tape) || !model->cache ? 0 : *s.last;
    ms_retain(tape, *last);
    ms_locals_end(&f, NULL);
    return ms_unown(tape, out);
}

/* ---- one token after others ---- */

/* [B, groups, N] to [B, heads, 1, N], each group's as often as it has heads: a copy but of one. */
static ms_tensor of_heads(ms_model *model, ms_tensor x)
{
    ms_tape *tape = model->tape;
    ms_symbols *s = &tape->trace->symbols;
    const ms_model_config *c = model->config;
    const ms_dim *d = ms_info(tape, x)->shape.dims, one = ms_dim_number(s, 1);
    ms_shape each = MS_SHAPE(d[0], d[1], one, d[2]), all = each;
    all.dims[2] = ms_dim_number(s, c->scan_heads / c->state_groups);
    ms_shape by_head = MS_SHAPE(d[0], ms_dim_number(s, c->scan_heads), one, d[2]);
    ms_tensor wide = ms_expand(tape, ms_reshape(tape, x, each), all);
    return ms_reshape(tape, ms_contiguous(tape, wide), by_head);
}

/* x.float(), let go of when `f` ends */
static ms_tensor wide_local(ms_locals *f, ms_tensor x)
{
    return *ms_local(f, ms_to(f->tape, x, MS_DTYPE_F32));
}

/* exp(step.float() * decay), step [B, heads, width, 1] */
static ms_tensor decays_of(ms_model *model, ms_tensor step, ms_tensor decay, const ms_shape *state)
{
    ms_tape *tape = model->tape;
    ms_locals f = ms_locals_begin(tape);
    ms_shape spread = *state;
    spread.dims[0] = ms_dim_number(&tape->trace->symbols, 1);
    ms_tensor rate = ms_unsqueeze(tape, ms_unsqueeze(tape, decay, 1), 2);
    ms_tensor wide = wide_local(&f, step);
    ms_tensor out = ms_mul(tape, wide, ms_expand(tape, ms_unsqueeze(tape, rate, 0), spread));
    ms_retain(tape, out);
    ms_locals_end(&f, NULL);
    return ms_exp(tape, ms_unown(tape, out));
}

/* C of each head times the state in its type: [B, heads, width] */
static ms_tensor read_state(ms_model *model, ms_locals *f, ms_tensor *states, ms_tensor query)
{
    ms_tape *tape = model->tape;
    ms_symbols *s = &tape->trace->symbols;
    const ms_shape shape = ms_info(tape, *states)->shape;
    const ms_dim *d = shape.dims, rows = ms_dim_mul(s, d[0], d[1]);
    ms_tensor *keys = ms_local(f, of_heads(model, query));
    ms_assign(f, states, ms_to(tape, *states, (ms_dtype)ms_info(tape, *keys)->dtype));
    ms_tensor product = ms_bmm(tape, ms_reshape(tape, *states, MS_SHAPE(rows, d[2], d[3])),
                               ms_reshape(tape, *keys, MS_SHAPE(rows, d[3], ms_dim_number(s, 1))));
    return ms_reshape(tape, product, MS_SHAPE(d[0], d[1], d[2]));
}

/* mamba2_selective_state_update() of one token: hidden [B, heads, width], step [B, heads], key and
 * query [B, groups, N]; `state` is the cache's, [B, heads, width, N] in fp32. The result is as
 * hidden. */
static ms_tensor chunk_update(ms_model *model, const ms_scan_inputs *in, ms_tensor state)
{
    ms_tape *tape = model->tape;
    if (ms_idle(tape))
        return 0;
    const ms_shape whole = ms_info(tape, state)->shape;
    const ms_dim *d = whole.dims;
    const ms_shape each = MS_SHAPE(d[0], d[1], d[2]), row = MS_SHAPE(d[1], d[2]);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_local(&f, in->hidden);
    ms_tensor *step = ms_local(&f, ms_expand(tape, ms_unsqueeze(tape, in->step, 2), each));
    ms_tensor bias = ms_expand(tape, ms_unsqueeze(tape, in->step_bias, 1), row);
    ms_assign(&f, step, ms_add(tape, *step, bias));
    ms_assign(&f, step, ms_softplus(tape, *step));
    ms_assign(&f, step, ms_unsqueeze(tape, *step, 3));
    ms_tensor *decays = ms_local(&f, decays_of(model, *step, in->decay, &whole));
    ms_tensor *keys = ms_local(&f, of_heads(model, in->key));
    ms_tensor *steps = ms_local(&f, ms_mul(tape, *step, *keys));
    ms_tensor *inputs = ms_local(&f, ms_mul(tape, *steps, ms_unsqueeze(tape, *hidden, 3)));
    ms_tensor *states = ms_local(&f, ms_add(tape, ms_mul(tape, state, *decays), *inputs));
    ms_tensor *out = ms_local(&f, read_state(model, &f, states, in->query));
    ms_tensor direct = ms_expand(tape, ms_unsqueeze(tape, in->direct, 1), row);
    ms_assign(&f, out, ms_add(tape, *out, ms_mul(tape, *hidden, direct)));
    ms_tensor result = *out;
    ms_retain(tape, result);
    ms_locals_end(&f, NULL);
    return ms_unown(tape, result);
}

/* ---- mamba2 mixer ---- */

typedef struct mixer {
    uint32_t scope;
    ms_convolution_module convolution;
    ms_linear_module in_proj, out_proj;
    ms_tensor step_bias, decay, direct; /* [heads] */
    ms_norm_module norm;
    ms_dim inner, states, heads, mixed; /* widths of the projection's parts */
} mixer;

/* ---- construction ---- */

static void measure(ms_model *model, mixer *m)
{
    ms_symbols *s = &model->tape->trace->symbols;
    const ms_model_config *c = model->config;
    m->inner = ms_dim_name(s, "Di", c->scan_heads * c->scan_head_dim);
    m->heads = ms_dim_name(s, "Hs", c->scan_heads);
    m->states =
        ms_dim_mul(s, ms_dim_name(s, "G", c->state_groups), ms_dim_name(s, "N", c->state_size));
    m->mixed = ms_dim_add(s, m->inner, ms_dim_mul(s, ms_dim_number(s, 2), m->states));
}

/* A parameter of the mixer itself, which precedes those of its modules. */
static ms_tensor own_parameter(ms_model *model, const mixer *m, const char *name, uint32_t place)
{
    ms_tensor out = ms_parameter_new(model, m->scope, name, MS_SHAPE(m->heads));
    ms_parameter_move_last(model, place);
    return out;
}

void *ms_mamba2_mixer_new(ms_model *model, uint32_t parent)
{
    const ms_model_config *c = model->config;
    ms_symbols *s = &model->tape->trace->symbols;
    mixer *m = ms_arena_array(model->arena, mixer, 1);
    if (!m)
        return NULL;
    uint32_t first = model->tape->parameters.count;
    measure(model, m);
    m->scope = ms_scope_add(model->tape, parent, "mixer", MS_NONE);
    ms_dim width = ms_dim_number(s, c->convolution_width);
    m->convolution =
        ms_convolution_new(model, m->scope, "conv1d", m->mixed, width, c->convolution_bias);
    ms_dim all = ms_dim_add(s, ms_dim_add(s, m->inner, m->mixed), m->heads);
    m->in_proj = ms_linear_new(model, m->scope, "in_proj", model->hidden, all, c->scan_bias);
    m->step_bias = own_parameter(model, m, "dt_bias", first);
    m->decay = own_parameter(model, m, "A_log", first + 1);
    m->norm = ms_norm_new(model, m->scope, "norm", m->inner, false);
    m->direct = own_parameter(model, m, "D", first + 2);
    m->out_proj = ms_linear_new(model, m->scope, "out_proj", m->inner, model->hidden, c->scan_bias);
    return m;
}

/* ---- forward ---- */

/* weight * norm(x * silu(gate)), each group of the width by itself; in fp32, as x is */
static ms_tensor gated_norm(ms_model *model, const mixer *m, ms_tensor x, ms_tensor gate)
{
    ms_tape *tape = model->tape;
    ms_symbols *s = &tape->trace->symbols;
    if (ms_idle(tape) || !x)
        return 0;
    uint32_t previous = ms_scope_enter(tape, m->norm.scope);
    const ms_shape shape = ms_info(tape, x)->shape;
    const uint64_t groups = model->config->state_groups;
    ms_shape by_group = shape;
    by_group.dims[by_group.rank - 1] = ms_dim_number(s, groups);
    by_group.dims[by_group.rank++] = ms_dim_number(s, m->inner.value / groups);
    const ms_dtype dtype = (ms_dtype)ms_info(tape, x)->dtype;
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, x);
    ms_tensor *other = ms_argument(&f, gate);
    ms_assign(&f, hidden, ms_to(tape, *hidden, MS_DTYPE_F32));
    ms_tensor open = ms_silu(tape, ms_to(tape, *other, MS_DTYPE_F32));
    ms_assign(&f, hidden, ms_mul(tape, *hidden, open));
    ms_tensor *grouped = ms_local(&f, ms_view(tape, *hidden, by_group));
    ms_tensor *variance = ms_local(&f, ms_mean_last(tape, ms_pow(tape, *grouped)));
    ms_tensor scale = ms_rsqrt(tape, ms_add_scalar(tape, *variance));
    ms_assign(&f, grouped, ms_mul(tape, *grouped, scale));
    ms_assign(&f, hidden, ms_view(tape, *grouped, shape));
    ms_tensor cast = ms_idle(tape) ? 0 : ms_to(tape, *hidden, dtype);
    ms_tensor out = ms_mul(tape, m->norm.weight, cast);
    ms_retain(tape, out);
    ms_locals_end(&f, NULL);
    tape->scope = previous;
    return ms_unown(tape, out);
}

/* The mixer's locals, in the function's order. */
typedef struct call {
    ms_tensor *hidden, *projected, *decay, *gate, *mixed, *step, *key, *query, *output, *result;
} call;

static void project(ms_model *model, const mixer *m, ms_locals *f, call *t)
{
    ms_tape *tape = model->tape;
    const ms_dim lengths[] = {m->inner, m->mixed, m->heads};
    ms_tensor parts[3];
    t->projected = ms_local(f, ms_linear_call(model, &m->in_proj, *t->hidden));
    ms_tensor rate = ms_idle(tape) ? 0 : ms_exp(tape, ms_to(tape, m->decay, MS_DTYPE_F32));
    t->decay = ms_local(f, ms_neg(tape, rate));
    ms_split_into(tape, *t->projected, 3, lengths, parts);
    t->gate = ms_local(f, parts[0]);
    t->mixed = ms_local(f, parts[1]);
    t->step = ms_local(f, parts[2]);
}

static uint64_t layer_of(const ms_model *model, const mixer *m)
{
    return ms_scope_layer(model->tape, m->scope);
}

static void convolve(ms_model *model, const mixer *m, ms_locals *f, call *t)
{
    ms_tape *tape = model->tape;
    const ms_dim lengths[] = {m->inner, m->states, m->states};
    ms_tensor parts[3];
    ms_assign(f, t->mixed, ms_transpose(tape, *t->mixed, 1, 2));
    ms_state_convolve(model, layer_of(model, m), &m->convolution, model->config->scan_activation, f,
                      t->mixed);
    ms_assign(f, t->mixed, ms_transpose(tape, *t->mixed, 1, 2));
    ms_split_into(tape, *t->mixed, 3, lengths, parts);
    ms_assign(f, t->hidden, parts[0]);
    t->key = ms_local(f, parts[1]);
    t->query = ms_local(f, parts[2]);
}

/* One token's, [B, heads, width]. */
static ms_tensor continue_scan(ms_model *model, const mixer *m, const call *t)
{
    ms_tape *tape = model->tape;
    ms_symbols *s = &tape->trace->symbols;
    const ms_model_config *c = model->config;
    ms_shape by_head = MS_SHAPE(model->batch, m->heads, ms_dim_name(s, "Ds", c->scan_head_dim));
    ms_shape by_group = MS_SHAPE(model->batch, ms_dim_name(s, "G", c->state_groups),
                                 ms_dim_name(s, "N", c->state_size));
    const ms_scan_inputs in = {.hidden = ms_reshape(tape, *t->hidden, by_head),
                               .step = ms_select(tape, *t->step, 1),
                               .decay = *t->decay,
                               .key = ms_reshape(tape, *t->key, by_group),
                               .query = ms_reshape(tape, *t->query, by_group),
                               .direct = m->direct,
                               .step_bias = m->step_bias};
    return chunk_update(model, &in, model->cache->layers[layer_of(model, m)].values);
}

static ms_tensor scan(ms_model *model, const mixer *m, ms_locals *f, const call *t)
{
    ms_tensor last = 0;
    ms_tape *tape = model->tape;
    ms_symbols *s = &tape->trace->symbols;
    const ms_model_config *c = model->config;
    if (ms_idle(tape) || !*t->hidden)
        return 0;
    if (ms_state_is_continued(model, layer_of(model, m)))
        return continue_scan(model, m, t);
    ms_dim width = ms_dim_name(s, "Ds", c->scan_head_dim);
    ms_shape by_head = MS_SHAPE(model->batch, model->seq, m->heads, width);
    ms_shape by_group = MS_SHAPE(model->batch, model->seq, ms_dim_name(s, "G", c->state_groups),
                                 ms_dim_name(s, "N", c->state_size));
    const ms_scan_inputs in = {.hidden = ms_view(tape, *t->hidden, by_head),
                               .step = *t->step,
                               .decay = *t->decay,
                               .key = ms_view(tape, *t->key, by_group),
                               .query = ms_view(tape, *t->query, by_group),
                               .direct = m->direct,
                               .step_bias = m->step_bias};
    ms_tensor out = chunk_scan(model, &in, &last);
    ms_state_keep(model, layer_of(model, m), f, last);
    return out;
}

ms_tensor ms_mamba2_mixer_call(ms_model *model, const void *module, ms_tensor x)
{
    ms_tape *tape = model->tape;
    const mixer *m = module;
    uint32_t previous = ms_scope_enter(tape, m->scope);
    const ms_dtype dtype = ms_idle(tape) ? MS_DTYPE_F32 : (ms_dtype)ms_info(tape, x)->dtype;
    ms_locals f = ms_locals_begin(tape);
    call t = {.hidden = ms_argument(&f, x)};
    project(model, m, &f, &t);
    convolve(model, m, &f, &t);
    t.output = ms_local(&f, 0);
    t.result = ms_local(&f, scan(model, m, &f, &t));
    ms_assign(&f, t.output, *t.result);
    if (!ms_idle(tape))
        ms_assign(&f, t.output,
                  ms_reshape(tape, *t.output, MS_SHAPE(model->batch, model->seq, m->inner)));
    ms_assign(&f, t.output, gated_norm(model, m, *t.output, *t.gate));
    ms_tensor cast = ms_idle(tape) ? 0 : ms_to(tape, *t.output, dtype);
    ms_tensor *out = ms_local(&f, ms_linear_call(model, &m->out_proj, cast));
    ms_tensor result = ms_locals_end(&f, out);
    tape->scope = previous;
    return result;
}
