/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/infer/llama/experts.h"

#include <stdio.h>

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

uint32_t ms_llama_experts(ms_llama_build *b, uint32_t x, uint64_t layer, const ms_llama_moe *how)
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
