/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/infer/llama/recurrent.h"

#define NONE MS_GRAPH_NONE

enum { WORD = 4, SCAN_HEAD = 16 };

static const ms_graph_tensor *tensor(const ms_llama_build *b, uint32_t t)
{
    return ms_llama_tensor_of(b, t);
}

static uint32_t need(ms_llama_build *b, uint64_t layer, const char *name)
{
    return ms_llama_weight_needed(b, (int64_t)layer, name);
}

/* ---- states ---- */

typedef struct states {
    uint32_t memory, rows;
    uint64_t width;
} states;

/* The state of a new sequence is set to zero in place. */
static states open_states(ms_llama_build *b, uint64_t layer, uint64_t width)
{
    states s = {.width = width};
    s.memory = ms_llama_memory(b, layer, MS_STORED_F32, width, b->run->n_seq, 1);
    s.rows = ms_graph_reshape(b->g, s.memory, width, b->run->n_seq, 1, 1);
    uint32_t one = ms_graph_reshape(b->g, s.rows, width, 1, 1, 1);
    ms_graph_expand(b->g, ms_graph_write(b->g, one, NONE, one));
    return s;
}

static uint32_t gathered(ms_llama_build *b, const states *s, uint32_t indices)
{
    if (b->g->has_failed)
        return NONE;
    uint32_t t = ms_graph_result(b->g, MS_GRAPH_GATHER, s->width, tensor(b, indices)->ne[0], 1, 1);
    ms_graph_from(b->g, t, s->rows);
    ms_graph_from(b->g, t, indices);
    return t;
}

/* States of other sequences, of which there are none when a graph is reserved. */
static void copy_others(ms_llama_build *b, const states *s)
{
    uint32_t t = gathered(b, s, b->no_rows);
    uint32_t to = ms_graph_reshape(b->g, s->memory, s->width, 0, 1, 1);
    ms_graph_expand(b->g, ms_graph_write(b->g, t, NONE, to));
}

static uint32_t states_of(ms_llama_build *b, const states *s)
{
    uint32_t t = gathered(b, s, b->state_rows);
    ms_graph_expand(b->g, t);
    copy_others(b, s);
    return t;
}

static void store(ms_llama_build *b, const states *s, uint32_t from, uint64_t ne2)
{
    uint64_t row = WORD * s->width, all = row * b->run->n_seq;
    uint32_t to = ms_graph_part(b->g, s->memory, (uint64_t[]){s->width, b->run->n_seq, ne2, 1}, row,
                                all, all);
    ms_graph_expand(b->g, ms_graph_write(b->g, from, NONE, to));
}

/* The last columns of a convolution's input. */
static uint32_t last_columns(ms_llama_build *b, uint32_t x, uint64_t columns)
{
    if (b->g->has_failed)
        return NONE;
    const ms_graph_tensor *t = tensor(b, x);
    return ms_graph_part(b->g, x, (uint64_t[]){columns, t->ne[1], t->ne[2], 1}, t->nb[1], t->nb[2],
                         t->nb[2] * t->ne[2]);
}

static uint32_t convolve(ms_llama_build *b, uint32_t x, uint64_t layer, const char *weight)
{
    uint32_t w = need(b, layer, weight);
    if (b->g->has_failed)
        return NONE;
    const ms_graph_tensor *of = tensor(b, x);
    uint64_t channels = of->ne[1], tokens = of->ne[0] - tensor(b, w)->ne[0] + 1;
    uint32_t t = ms_graph_result(b->g, MS_GRAPH_OTHER, channels, tokens, of->ne[2], 1);
    ms_graph_from(b->g, t, x);
    ms_graph_from(b->g, t, w);
    if (t != NONE)
        b->g->tensors.items[t].lacks_cuda = channels % 128 != 0;
    return t;
}

/* ---- lfm2 ---- */

static uint32_t third(ms_llama_build *b, uint32_t x)
{
    if (b->g->has_failed)
        return NONE;
    const ms_graph_tensor *t = tensor(b, x);
    return ms_graph_part(b->g, x, (uint64_t[]){t->ne[0] / 3, t->ne[1], t->ne[2], 1}, t->nb[1],
                         t->nb[2], t->nb[2] * t->ne[2]);
}

uint32_t ms_llama_short_convolution(ms_llama_build *b, uint32_t x, uint64_t layer)
{
    const ms_llama_model *m = b->model;
    uint64_t n = m->n_embd, seqs = b->run->n_seq, tokens = b->tokens / seqs;
    uint64_t before = m->conv_width - 1;
    x = ms_graph_reshape(b->g, x, n, tokens, seqs, 1);
    uint32_t all = ms_llama_linear(b, x, (int64_t)layer, "shortconv.in_proj");
    uint32_t in = third(b, all), out = third(b, all), value = third(b, all);
    uint32_t t = ms_graph_swapped(b->g, ms_llama_binary(b, in, value), 0, 1);
    states s = open_states(b, layer, before * n);
    uint32_t past = ms_graph_reshape(b->g, states_of(b, &s), before, n, seqs, 1);
    t = ms_llama_concat(b, past, t);
    store(b, &s, last_columns(b, t, before), 1);
    t = convolve(b, t, layer, "shortconv.conv.weight");
    t = ms_llama_binary(b, out, t);
    t = ms_llama_linear(b, t, (int64_t)layer, "shortconv.out_proj");
    return ms_graph_reshape(b->g, t, n, tokens * seqs, 1, 1);
}

/* ---- mamba2 ---- */

/* Sizes of a state-space layer. */
typedef struct space {
    uint64_t inner, state, groups, heads, head, mixed; /* mixed: x, B and C */
    uint64_t seqs, tokens;
} space;

static uint32_t split(ms_llama_build *b, uint32_t x, uint64_t width, uint64_t count, const space *p)
{
    if (b->g->has_failed)
        return NONE;
    const ms_graph_tensor *t = tensor(b, x);
    return ms_graph_part(b->g, x, (uint64_t[]){width, count, p->tokens, p->seqs}, WORD * width,
                         t->nb[1], t->nb[2]);
}

static uint32_t columns(ms_llama_build *b, uint32_t x, uint64_t width, const space *p)
{
    if (b->g->has_failed)
        return NONE;
    const ms_graph_tensor *t = tensor(b, x);
    return ms_graph_part(b->g, x, (uint64_t[]){width, p->tokens, p->seqs, 1}, t->nb[1], t->nb[2],
                         t->nb[2] * p->seqs);
}

static uint32_t mix_tokens(ms_llama_build *b, uint32_t x, uint64_t layer)
{
    const ms_llama_model *m = b->model;
    states s = {.memory = NONE};
    uint64_t before = m->conv_width - 1;
    if (b->g->has_failed)
        return NONE;
    uint64_t mixed = tensor(b, x)->ne[0], seqs = tensor(b, x)->ne[2];
    s = open_states(b, layer, before * mixed);
    uint32_t old = ms_graph_reshape(b->g, states_of(b, &s), before, mixed, seqs, 1);
    uint32_t t = ms_llama_concat(b, old, ms_graph_swapped(b->g, x, 0, 1));
    store(b, &s, last_columns(b, t, before), 1);
    t = convolve(b, t, layer, "ssm_conv1d.weight");
    t = ms_llama_binary(b, t, need(b, layer, "ssm_conv1d.bias"));
    return ms_llama_unary(b, t);
}

static uint32_t scan(ms_llama_build *b, uint32_t mixed, uint32_t dt, uint64_t layer, const space *p,
                     uint32_t x)
{
    uint32_t keys = split(b, mixed, p->state, p->groups, p);
    uint32_t queries = split(b, mixed, p->state, p->groups, p);
    uint32_t decay = need(b, layer, "ssm_a");
    states s = open_states(b, layer, p->state * p->inner);
    uint32_t rows = ms_graph_reshape(b->g, s.rows, p->state, p->head, p->heads, p->seqs);
    uint32_t t =
        ms_graph_result(b->g, MS_GRAPH_OTHER,
                        p->inner * p->tokens * p->seqs + p->state * p->inner * p->seqs, 1, 1, 1);
    const uint32_t from[] = {rows, x, dt, decay, keys, queries, b->state_rows};
    for (size_t i = 0; i < sizeof from / sizeof from[0]; i++)
        ms_graph_from(b->g, t, from[i]);
    if (t == NONE)
        return NONE;
    bool has_kernel = p->state == 96 || p->state == 128 || p->state == 256;
    b->g->tensors.items[t].lacks_cuda = !has_kernel || p->head % SCAN_HEAD != 0;
    ms_graph_expand(b->g, t);
    copy_others(b, &s);
    uint64_t row = WORD * s.width, all = row * p->seqs;
    uint32_t last = ms_graph_part(b->g, t, (uint64_t[]){s.width, p->seqs, 1, 1}, row, all, all);
    store(b, &s, last, 1);
    return t;
}

uint32_t ms_llama_state_space(ms_llama_build *b, uint32_t x, uint64_t layer)
{
    const ms_llama_model *m = b->model;
    space p = {.inner = m->inner, .state = m->state, .groups = m->groups, .heads = m->scan_heads};
    p.head = p.inner / p.heads;
    p.mixed = p.inner + 2 * p.groups * p.state;
    p.seqs = b->run->n_seq;
    p.tokens = b->tokens / p.seqs;
    uint32_t all = ms_llama_linear(b, x, (int64_t)layer, "ssm_in");
    if (b->g->has_failed)
        return NONE;
    all = ms_graph_reshape(b->g, all, tensor(b, all)->ne[0], p.tokens, p.seqs, 1);
    uint32_t z = split(b, all, p.head, p.heads, &p), mixed = columns(b, all, p.mixed, &p);
    uint32_t dt = columns(b, all, p.heads, &p);
    mixed = mix_tokens(b, mixed, layer);
    uint32_t values = split(b, mixed, p.head, p.heads, &p);
    dt = ms_graph_contiguous(b->g, dt, p.heads, p.tokens, p.seqs, 1);
    dt = ms_llama_binary(b, dt, need(b, layer, "ssm_dt.bias"));
    uint32_t t = scan(b, mixed, dt, layer, &p, values);
    if (b->g->has_failed)
        return NONE;
    const ms_graph_tensor *v = tensor(b, values);
    uint64_t head = v->nb[1], token = p.heads * head;
    uint32_t y = ms_graph_part(b->g, t, (uint64_t[]){p.head, p.heads, p.tokens, p.seqs}, head,
                               token, p.tokens * token);
    y = ms_llama_binary(b, y, ms_llama_binary(b, values, need(b, layer, "ssm_d")));
    z = ms_graph_contiguous(b->g, z, p.head, p.heads, p.tokens, p.seqs);
    y = ms_llama_glu(b, z, y);
    if (ms_llama_has(b, (int64_t)layer, "ssm_norm.weight")) {
        y = ms_graph_reshape(b->g, y, p.inner / p.groups, p.groups, p.tokens, p.seqs);
        y = ms_llama_norm(b, y, (int64_t)layer, "ssm_norm", true);
    }
    y = ms_graph_reshape(b->g, y, p.inner, p.tokens * p.seqs, 1, 1);
    return ms_llama_linear(b, y, (int64_t)layer, "ssm_out");
}
