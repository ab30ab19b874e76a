/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/infer/llama/plan.h"

#include <stdio.h>

#include "serve/infer/llama/attention.h"
#include "serve/infer/llama/build.h"

/* ---- experts ---- */

/* The mixture of experts of llama.cpp's graphs. */

typedef struct ms_llama_moe {
    bool normalises;        /* weights of a token's experts sum to 1 */
    bool softmax_of_chosen; /* only of those that were chosen */
    bool scales;            /* weights by a constant */
} ms_llama_moe;

#define NONE MS_GRAPH_NONE

enum { MOST_REDUCED = 15, LARGEST_TOP_K = 512 };

typedef struct routed {
    uint32_t chosen, weights;
} routed;

/* The first of each row in descending order. */
static uint32_t top(ms_llama_build *b, uint32_t x, uint64_t count)
{
    if (b->g->has_failed)
        return NONE;
    const uint64_t *ne = ms_llama_tensor_of(b, x)->ne;
    uint64_t row = 4 * ne[0], rows = ne[1], more = ne[2];
    uint32_t sorted = ms_graph_result(b->g, MS_GRAPH_OTHER, ne[0], rows, more, 1);
    ms_graph_from(b->g, sorted, x);
    return ms_graph_part(b->g, sorted, (uint64_t[]){count, rows, more, 1}, row, row * rows,
                         row * rows * more);
}

static uint32_t chosen_rows(ms_llama_build *b, uint32_t from, uint32_t chosen)
{
    if (b->g->has_failed)
        return NONE;
    const uint64_t *ne = ms_llama_tensor_of(b, chosen)->ne;
    uint32_t t = ms_graph_result(b->g, MS_GRAPH_GATHER, ms_llama_tensor_of(b, from)->ne[0], ne[0],
                                 ne[1], ne[2]);
    ms_graph_from(b->g, t, from);
    ms_graph_from(b->g, t, chosen);
    return t;
}

static uint32_t sum_of_rows(ms_llama_build *b, uint32_t x)
{
    if (b->g->has_failed)
        return NONE;
    const uint64_t *ne = ms_llama_tensor_of(b, x)->ne;
    uint32_t t = ms_graph_result(b->g, MS_GRAPH_OTHER, 1, ne[1], ne[2], ne[3]);
    ms_graph_from(b->g, t, x);
    return t;
}

/* Scores of the experts in the groups whose two best experts are the best; the others are out. */
static uint32_t of_best_groups(ms_llama_build *b, uint32_t scores, uint64_t tokens)
{
    ms_graph *g = b->g;
    uint64_t groups = b->model->expert_groups, each = b->model->experts / groups;
    uint32_t grouped = ms_graph_reshape(g, scores, each, groups, tokens, 1);
    uint32_t two = top(b, grouped, 2);
    uint32_t best = chosen_rows(b, ms_graph_reshape(g, grouped, 1, each, groups, tokens), two);
    best = sum_of_rows(b, ms_graph_reshape(g, best, 2, groups, tokens, 1));
    uint32_t chosen =
        top(b, ms_graph_reshape(g, best, groups, tokens, 1, 1), b->model->groups_used);
    uint32_t kept = chosen_rows(b, grouped, chosen);
    uint32_t all = ms_graph_write(g, kept, chosen, ms_llama_unary(b, grouped));
    return ms_graph_reshape(g, all, b->model->experts, tokens, 1, 1);
}

static uint32_t shares(ms_llama_build *b, uint32_t weights, uint64_t used, uint64_t tokens,
                       const ms_llama_moe *how)
{
    ms_graph *g = b->g;
    if (how->softmax_of_chosen) {
        weights = ms_graph_reshape(g, weights, used, tokens, 1, 1);
        weights = ms_llama_unary(b, weights);
        weights = ms_graph_reshape(g, weights, 1, used, tokens, 1);
    }
    if (how->normalises) {
        weights = ms_graph_reshape(g, weights, used, tokens, 1, 1);
        weights = ms_llama_binary(b, weights, ms_llama_unary(b, sum_of_rows(b, weights)));
        weights = ms_graph_reshape(g, weights, 1, used, tokens, 1);
    }
    return how->scales ? ms_llama_unary(b, weights) : weights;
}

/* Numbers of experts for which CUDA routes in one kernel. */
static bool has_kernel(uint64_t experts)
{
    bool is_power = (experts & (experts - 1)) == 0;
    return (is_power && experts <= LARGEST_TOP_K) || experts == 288 || experts == 576;
}

static routed route(ms_llama_build *b, uint32_t x, uint64_t layer, uint64_t tokens,
                    const ms_llama_moe *how)
{
    ms_graph *g = b->g;
    uint64_t experts = b->model->experts, used = b->model->experts_used;
    uint32_t logits = ms_llama_linear(b, x, (int64_t)layer, "ffn_gate_inp");
    uint32_t probs = how->softmax_of_chosen ? logits : ms_llama_unary(b, logits);
    uint32_t bias = ms_llama_weight(b, (int64_t)layer, "exp_probs_b.bias");
    uint32_t ranked = bias == NONE ? probs : ms_llama_binary(b, probs, bias);
    if (b->model->expert_groups > 1)
        ranked = of_best_groups(b, ranked, tokens);
    routed r = {.chosen = top(b, ranked, used)};
    uint32_t rows = ms_graph_reshape(g, probs, 1, experts, tokens, 1);
    r.weights = chosen_rows(b, rows, r.chosen);
    r.weights = shares(b, r.weights, used, tokens, how);
    ms_graph_expand(g, r.weights);
    ms_graph_fusion fusion = {.first = probs,
                              .last = r.weights,
                              .count = 5u + (bias != NONE) + 5u * how->normalises + how->scales,
                              .keeps_all = true};
    bool is_pattern = !how->softmax_of_chosen && b->model->expert_groups <= 1;
    if (b->is_fused && is_pattern && has_kernel(experts))
        ms_graph_fuse(g, fusion);
    return r;
}

static uint32_t product(ms_llama_build *b, uint32_t x, uint32_t chosen, uint64_t layer,
                        const char *name)
{
    uint32_t w = ms_llama_weight_needed(b, (int64_t)layer, ms_llama_name_of(name, ".weight").text);
    uint32_t bias = ms_llama_weight(b, (int64_t)layer, ms_llama_name_of(name, ".bias").text);
    if (!b->g->has_failed && ms_llama_tensor_of(b, w)->ne[0] != ms_llama_tensor_of(b, x)->ne[0])
        ms_llama_refuse(b, name);
    if (b->g->has_failed)
        return NONE;
    uint32_t t = ms_graph_result(b->g, MS_GRAPH_PRODUCT_OF_CHOSEN, ms_llama_tensor_of(b, w)->ne[1],
                                 b->model->experts_used, ms_llama_tensor_of(b, x)->ne[2], 1);
    ms_graph_from(b->g, t, w);
    ms_graph_from(b->g, t, x);
    ms_graph_from(b->g, t, chosen);
    if (bias != NONE) {
        t = ms_llama_binary(b, t, bias);
        ms_graph_from(b->g, t, chosen);
    }
    return t;
}

/* The results of a token's experts, added one after the other. */
static uint32_t sum(ms_llama_build *b, uint32_t experts, uint64_t tokens)
{
    ms_graph *g = b->g;
    uint64_t used = b->model->experts_used, n = b->model->n_embd;
    uint32_t parts[64], total;
    if (used == 0 || used > sizeof parts / sizeof parts[0] || g->has_failed) {
        g->has_failed = true;
        return NONE;
    }
    for (uint64_t i = 0; i < used; i++) {
        uint64_t row = 4 * n * used;
        parts[i] = ms_graph_part(g, experts, (uint64_t[]){n, tokens, 1, 1}, row, row * tokens,
                                 row * tokens);
        ms_graph_expand(g, parts[i]);
    }
    total = parts[0];
    for (uint64_t i = 1; i < used; i++) {
        total = ms_llama_binary(b, total, parts[i]);
        ms_graph_expand(g, total);
    }
    return used == 1 ? ms_graph_contiguous(g, total, n, tokens, 1, 1) : total;
}

static uint32_t llama_experts(ms_llama_build *b, uint32_t x, uint64_t layer,
                              const ms_llama_moe *how)
{
    ms_graph *g = b->g;
    if (g->has_failed)
        return NONE;
    uint64_t tokens = ms_llama_tensor_of(b, x)->ne[1], used = b->model->experts_used;
    routed r = route(b, x, layer, tokens, how);
    uint32_t rows = ms_graph_reshape(g, x, b->model->n_embd, 1, tokens, 1);
    uint32_t up = product(b, rows, r.chosen, layer, "ffn_up_exps");
    uint32_t gate = product(b, rows, r.chosen, layer, "ffn_gate_exps");
    uint32_t inner = ms_llama_glu(b, gate, up);
    uint32_t unweighted = product(b, inner, r.chosen, layer, "ffn_down_exps");
    uint32_t experts = ms_llama_binary(b, unweighted, r.weights);
    ms_graph_expand(g, experts);
    uint32_t total = sum(b, experts, tokens);
    if (used > 1 && used <= MOST_REDUCED)
        ms_graph_fuse(g, (ms_graph_fusion){experts, total, (uint32_t)(2 * used), false});
    return total;
}

/* ---- recurrent ---- */

/* Layers with a recurrent state in place of attention. */

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

/* A short convolution over the tokens of each sequence (lfm2). */
static uint32_t llama_short_convolution(ms_llama_build *b, uint32_t x, uint64_t layer)
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

/* A state-space layer (mamba2). */
static uint32_t llama_state_space(ms_llama_build *b, uint32_t x, uint64_t layer)
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

/* ---- plan ---- */

/* What the architectures' graphs differ in, beside the weights that they have. */
typedef struct shape {
    bool rotates;          /* rotary embeddings */
    bool scales_in;        /* embeddings */
    bool scales_q;         /* queries, after the rotary embedding */
    bool adds_to_residual; /* whose memory the sum takes */
    bool caps;             /* scores of attention, and logits */
    bool outputs_last;     /* the rows with logits are taken after the last layer */
    const char *attention_norm, *mlp_norm, *last_norm;
    const char *after_attention, *after_mlp; /* norms; NULL: none */
    ms_llama_mlp mlp;
    ms_llama_moe moe;
} shape;

#define NORMS .attention_norm = "attn_norm", .mlp_norm = "ffn_norm", .last_norm = "output_norm"
#define POST_NORMS .after_attention = "post_attention_norm", .after_mlp = "post_ffw_norm"

/* clang-format off */
static const shape shapes[MS_LLAMA_ARCHS] = {
    [MS_LLAMA_LLAMA]     = {NORMS, .rotates = true, .moe = {.normalises = true}},
    [MS_LLAMA_QWEN2]     = {NORMS, .rotates = true},
    [MS_LLAMA_QWEN3]     = {NORMS, .rotates = true},
    [MS_LLAMA_QWEN3MOE]  = {NORMS, .rotates = true, .moe = {.normalises = true}},
    [MS_LLAMA_GEMMA2]    = {NORMS, POST_NORMS, .rotates = true, .scales_in = true, .scales_q = true, .caps = true},
    [MS_LLAMA_GEMMA3]    = {NORMS, POST_NORMS, .rotates = true, .scales_in = true, .scales_q = true},
    [MS_LLAMA_GPT2]      = {NORMS, .mlp = MS_LLAMA_UNGATED},
    [MS_LLAMA_PHI3]      = {NORMS, .rotates = true, .scales_q = true, .adds_to_residual = true, .mlp = MS_LLAMA_GATED_IN_ONE},
    [MS_LLAMA_DEEPSEEK2] = {NORMS},
    [MS_LLAMA_GPT_OSS]   = {.attention_norm = "attn_norm", .mlp_norm = "post_attention_norm", .last_norm = "output_norm",
                            .rotates = true, .outputs_last = true, .moe = {.softmax_of_chosen = true}},
    [MS_LLAMA_LFM2]      = {.attention_norm = "attn_norm", .mlp_norm = "ffn_norm", .last_norm = "token_embd_norm",
                            .rotates = true, .adds_to_residual = true},
    [MS_LLAMA_MAMBA2]    = {NORMS},
};

/* clang-format on */

static ms_llama_qkv queries(ms_llama_build *b, const shape *s, uint32_t x, uint64_t layer)
{
    int64_t l = (int64_t)layer;
    ms_llama_qkv of = ms_llama_qkv_of(b, x, layer);
    if (ms_llama_has(b, l, "attn_q_norm.weight"))
        of.q = ms_llama_norm(b, of.q, l, "attn_q_norm", true);
    if (s->rotates)
        of.q = ms_llama_rope(b, of.q, l);
    if (ms_llama_has(b, l, "attn_k_norm.weight"))
        of.k = ms_llama_norm(b, of.k, l, "attn_k_norm", true);
    if (s->rotates)
        of.k = ms_llama_rope(b, of.k, l);
    if (s->scales_q)
        of.q = ms_llama_unary(b, of.q);
    return of;
}

static uint32_t mix(ms_llama_build *b, const shape *s, uint32_t x, uint64_t layer)
{
    if (b->model->arch == MS_LLAMA_MAMBA2)
        return llama_state_space(b, x, layer);
    if (ms_llama_is_recurrent(b->model, layer))
        return llama_short_convolution(b, x, layer);
    if (b->model->latent > 0)
        return ms_llama_attend_latent(b, x, layer);
    return ms_llama_attend(b, queries(b, s, x, layer), layer, s->caps);
}

static uint32_t mlp(ms_llama_build *b, const shape *s, uint32_t x, uint64_t layer)
{
    int64_t l = (int64_t)layer;
    ms_llama_moe moe = s->moe;
    if (!b->model->layers[layer].is_sparse)
        return ms_llama_dense(b, x, l, s->mlp, "");
    moe.normalises = moe.normalises || b->model->normalises_experts;
    moe.scales = b->model->scales_experts;
    uint32_t t = llama_experts(b, x, layer, &moe);
    if (ms_llama_has(b, l, "ffn_up_shexp.weight"))
        t = ms_llama_binary(b, t, ms_llama_dense(b, x, l, MS_LLAMA_GATED, "_shexp"));
    return t;
}

static uint32_t layer_of(ms_llama_build *b, const shape *s, uint32_t in, uint64_t layer)
{
    int64_t l = (int64_t)layer;
    bool is_last = layer + 1 == b->model->n_layer && !s->outputs_last;
    uint32_t t = mix(b, s, ms_llama_norm(b, in, l, s->attention_norm, true), layer);
    if (is_last) {
        t = ms_llama_output_rows(b, t);
        in = ms_llama_output_rows(b, in);
    }
    if (s->after_attention)
        t = ms_llama_norm(b, t, l, s->after_attention, true);
    bool is_residual_first = b->model->arch == MS_LLAMA_LFM2;
    uint32_t middle = is_residual_first ? ms_llama_binary(b, in, t) : ms_llama_binary(b, t, in);
    if (b->model->arch == MS_LLAMA_MAMBA2)
        return middle;
    t = mlp(b, s, ms_llama_norm(b, middle, l, s->mlp_norm, true), layer);
    if (s->after_mlp)
        t = ms_llama_norm(b, t, l, s->after_mlp, false);
    return s->adds_to_residual ? ms_llama_binary(b, middle, t) : ms_llama_binary(b, t, middle);
}

static void set_output(ms_llama_build *b, uint32_t t)
{
    if (t != NONE)
        b->g->tensors.items[t].is_output = true;
}

static void build(ms_llama_build *b, const shape *s)
{
    int64_t head = (int64_t)b->model->n_layer;
    ms_llama_inputs(b);
    uint32_t t = b->embeddings;
    if (s->scales_in)
        t = ms_llama_unary(b, t);
    if (b->model->arch == MS_LLAMA_GPT2)
        t = ms_llama_binary(b, t, ms_llama_gather(b, "position_embd.weight", b->positions));
    for (uint64_t layer = 0; layer < b->model->n_layer; layer++)
        t = layer_of(b, s, t, layer);
    if (s->outputs_last) {
        set_output(b, t);
        t = ms_llama_output_rows(b, t);
    }
    t = ms_llama_norm(b, t, head, s->last_norm, false);
    set_output(b, t);
    bool has_logits = b->model->arch != MS_LLAMA_LFM2 || !b->run->job->settings->llama.embeddings;
    if (has_logits) {
        t = ms_llama_head(b, t);
        for (int i = 0; (s->caps || b->model->caps_logits) && i < 3; i++)
            t = ms_llama_unary(b, t);
        set_output(b, t);
    }
    ms_graph_expand(b->g, t);
}

/* Copies of inputs for several batches under way: all layers are on devices, more than one. */
static bool pipelines(const ms_llama_run *r)
{
    return r->devices > 1 && r->first_device_layer == 0 && !r->places &&
           r->job->settings->llama.kv_offload;
}

static ms_status fail_lacking(const ms_llama_build *b, ms_error *err)
{
    return ms_fail(err, MS_ERR_CONFIG,
                   "the model's tensor %s is missing, or its shape contradicts the metadata",
                   b->lacking);
}

ms_status ms_llama_plan_make(const ms_llama_run *r, const ms_llama_batch *batch, ms_llama_plan *p,
                             ms_error *err)
{
    *p = (ms_llama_plan){.g = {.has_failed = false}};
    ms_llama_build b = {.run = r,
                        .model = r->model,
                        .g = &p->g,
                        .tokens = batch->tokens,
                        .outputs = batch->outputs,
                        .filled = batch->filled,
                        .is_loaded = batch->is_loaded,
                        .is_fused = batch->is_fused};
    const ms_sched_settings settings = {.devices = r->is_cuda ? r->devices : 0,
                                        .offloads = r->job->settings->llama.op_offload,
                                        .pipelines = pipelines(r)};
    if (ms_llama_build_open(&b))
        build(&b, &shapes[r->model->arch]);
    else
        p->g.has_failed = true;
    ms_llama_build_close(&b);
    ms_status status =
        b.lacking[0] ? fail_lacking(&b, err) : ms_sched_make(&p->g, &settings, &p->schedule, err);
    if (status != MS_OK)
        ms_graph_free(&p->g);
    return status;
}

void ms_llama_plan_free(ms_llama_plan *p)
{
    ms_sched_free(&p->schedule);
    ms_graph_free(&p->g);
}
