/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/recurrent/chunk_scan.h"

#include "torch/ops/einsum.h"
#include "torch/ops/moe/routing.h"
#include "torch/ops/ops.h"

/* The function's locals, in its order. */
typedef struct scan {
    ms_tensor *hidden, *step, *decay, *key, *query, *residual, *sums, *within, *scores, *weighted,
        *direct, *left_over, *decayed_key, *states, *before, *between, *carried, *last, *reach,
        *seen, *across, *out;
    ms_dim padded, chunks, tokens; /* of the sequence; number of chunks; tokens of one */
} scan;

static void bind(ms_model *model, ms_locals *f, const ms_scan_inputs *in, uint64_t each, scan *s)
{
    ms_symbols *symbols = &model->tape->trace->symbols;
    *s = (scan){.padded = ms_dim_ceil(symbols, model->seq, each)};
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
static ms_tensor in_chunks(ms_tape *tape, const scan *s, ms_tensor x)
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
static void prepare(ms_model *model, ms_locals *f, const ms_scan_inputs *in, scan *s)
{
    ms_tape *tape = model->tape;
    if (ms_idle(tape))
        return;
    ms_dtype dtype = (ms_dtype)ms_info(tape, *s->step)->dtype;
    const uint64_t heads = ms_info(tape, *s->hidden)->shape.dims[2].value;
    const uint64_t groups = ms_info(tape, *s->key)->shape.dims[2].value;
    ms_dim repeats = ms_dim_number(&tape->trace->symbols, heads / groups);
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
static void cut(ms_tape *tape, ms_locals *f, scan *s)
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

static void run_within(ms_tape *tape, ms_locals *f, scan *s)
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

static void make_states(ms_tape *tape, ms_locals *f, scan *s)
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
static void carry(ms_tape *tape, ms_locals *f, scan *s)
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

static void add_up(ms_model *model, ms_locals *f, scan *s)
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

ms_tensor ms_chunk_scan(ms_model *model, const ms_scan_inputs *inputs, uint64_t chunk,
                        ms_tensor *last)
{
    ms_tape *tape = model->tape;
    scan s;
    ms_locals f = ms_locals_begin(tape);
    bind(model, &f, inputs, chunk, &s);
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
static ms_tensor of_heads(ms_tape *tape, ms_tensor x, uint64_t heads)
{
    ms_symbols *s = &tape->trace->symbols;
    const ms_dim *d = ms_info(tape, x)->shape.dims, one = ms_dim_number(s, 1);
    ms_shape each = MS_SHAPE(d[0], d[1], one, d[2]), all = each;
    all.dims[2] = ms_dim_number(s, heads / d[1].value);
    ms_shape by_head = MS_SHAPE(d[0], ms_dim_number(s, heads), one, d[2]);
    ms_tensor wide = ms_expand(tape, ms_reshape(tape, x, each), all);
    return ms_reshape(tape, ms_contiguous(tape, wide), by_head);
}

/* x.float(), let go of when `f` ends */
static ms_tensor wide_local(ms_locals *f, ms_tensor x)
{
    return *ms_local(f, ms_to(f->tape, x, MS_DTYPE_F32));
}

/* exp(step.float() * decay), step [B, heads, width, 1] */
static ms_tensor decays_of(ms_tape *tape, ms_tensor step, ms_tensor decay, const ms_shape *state)
{
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
static ms_tensor read_state(ms_tape *tape, ms_locals *f, ms_tensor *states, ms_tensor query)
{
    ms_symbols *s = &tape->trace->symbols;
    const ms_shape shape = ms_info(tape, *states)->shape;
    const ms_dim *d = shape.dims, rows = ms_dim_mul(s, d[0], d[1]);
    ms_tensor *keys = ms_local(f, of_heads(tape, query, d[1].value));
    ms_assign(f, states, ms_to(tape, *states, (ms_dtype)ms_info(tape, *keys)->dtype));
    ms_tensor product = ms_bmm(tape, ms_reshape(tape, *states, MS_SHAPE(rows, d[2], d[3])),
                               ms_reshape(tape, *keys, MS_SHAPE(rows, d[3], ms_dim_number(s, 1))));
    return ms_reshape(tape, product, MS_SHAPE(d[0], d[1], d[2]));
}

ms_tensor ms_chunk_update(ms_model *model, const ms_scan_inputs *in, ms_tensor state)
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
    ms_tensor *decays = ms_local(&f, decays_of(tape, *step, in->decay, &whole));
    ms_tensor *keys = ms_local(&f, of_heads(tape, in->key, d[1].value));
    ms_tensor *steps = ms_local(&f, ms_mul(tape, *step, *keys));
    ms_tensor *inputs = ms_local(&f, ms_mul(tape, *steps, ms_unsqueeze(tape, *hidden, 3)));
    ms_tensor *states = ms_local(&f, ms_add(tape, ms_mul(tape, state, *decays), *inputs));
    ms_tensor *out = ms_local(&f, read_state(tape, &f, states, in->query));
    ms_tensor direct = ms_expand(tape, ms_unsqueeze(tape, in->direct, 1), row);
    ms_assign(&f, out, ms_add(tape, *out, ms_mul(tape, *hidden, direct)));
    ms_tensor result = *out;
    ms_retain(tape, result);
    ms_locals_end(&f, NULL);
    return ms_unown(tape, result);
}
