/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "infer/llama/experts.h"

#define NONE MS_GRAPH_NONE

typedef struct routed {
    uint32_t chosen, weights;
} routed;

static uint32_t with_bias(ms_llama_build *b, uint32_t x)
{
    return ms_graph_in_place(b->g, x, ms_graph_external(b->g, 0, 1, 1));
}

static uint32_t shares(ms_llama_build *b, uint32_t weights, uint64_t used, uint64_t tokens,
                       const ms_llama_moe *how)
{
    ms_graph *g = b->g;
    if (how->softmax_of_chosen || how->normalises)
        weights = ms_graph_reshape(g, weights, used, tokens, 1, 1);
    if (how->softmax_of_chosen)
        weights = ms_llama_unary(b, weights);
    if (how->normalises) {
        uint32_t sum = ms_graph_result(g, 1, tokens, 1, 1);
        ms_graph_from(g, sum, weights);
        weights = ms_graph_in_place(g, weights, ms_llama_unary(b, sum));
    }
    return how->softmax_of_chosen || how->normalises
               ? ms_graph_reshape(g, weights, 1, used, tokens, 1)
               : weights;
}

static routed route(ms_llama_build *b, uint32_t x, uint64_t tokens, const ms_llama_moe *how)
{
    ms_graph *g = b->g;
    uint64_t experts = b->model->experts, used = b->model->experts_used;
    uint32_t logits = ms_llama_linear(b, x, experts, how->has_bias);
    uint32_t probs = how->softmax_of_chosen ? logits : ms_llama_unary(b, logits);
    uint32_t sorted = ms_graph_result(g, experts, tokens, 1, 1);
    ms_graph_from(g, sorted, probs);
    routed r = {.chosen = ms_graph_part(g, sorted, used, tokens, 1, 0)};
    uint32_t rows = ms_graph_reshape(g, probs, 1, experts, tokens, 1);
    r.weights = ms_graph_result(g, 1, used, tokens, 1);
    ms_graph_from(g, r.weights, rows);
    ms_graph_from(g, r.weights, r.chosen);
    r.weights = shares(b, r.weights, used, tokens, how);
    ms_graph_expand(g, r.weights);
    return r;
}

static uint32_t product(ms_llama_build *b, uint32_t x, uint32_t chosen, uint64_t width,
                        uint64_t tokens, const ms_llama_moe *how)
{
    uint32_t w = ms_graph_external(b->g, 0, 1, width);
    uint32_t t = ms_graph_result(b->g, width, b->model->experts_used, tokens, 1);
    ms_graph_from(b->g, t, w);
    ms_graph_from(b->g, t, x);
    ms_graph_from(b->g, t, chosen);
    if (how->has_bias) {
        t = with_bias(b, t);
        ms_graph_from(b->g, t, chosen);
    }
    return t;
}

/* The results of a token's experts, added one after the other. CUDA runs weighting and sum as one
 * kernel, until whose end the products stay. */
static uint32_t sum(ms_llama_build *b, uint32_t experts, uint32_t unweighted, uint64_t tokens)
{
    ms_graph *g = b->g;
    uint64_t used = b->model->experts_used, n = b->model->n_embd;
    uint32_t parts[64], total;
    if (used == 0 || used > sizeof parts / sizeof parts[0] || g->has_failed) {
        g->has_failed = true;
        return NONE;
    }
    for (uint64_t i = 0; i < used; i++) {
        parts[i] = ms_graph_part(g, experts, n, tokens, 1, 0);
        if (parts[i] == NONE)
            return NONE;
        g->tensors.items[parts[i]].nb[1] = 4 * n * used;
        ms_graph_expand(g, parts[i]);
    }
    total = parts[0];
    for (uint64_t i = 1; i < used; i++) {
        total = ms_graph_in_place(g, total, parts[i]);
        if (i + 1 == used && b->run->is_cuda)
            ms_graph_from(g, total, unweighted);
        ms_graph_expand(g, total);
    }
    return total;
}

uint32_t ms_llama_experts(ms_llama_build *b, uint32_t x, const ms_llama_moe *how)
{
    ms_graph *g = b->g;
    if (g->has_failed)
        return NONE;
    uint64_t tokens = g->tensors.items[x].ne[1], used = b->model->experts_used;
    uint64_t width = b->model->expert_ff;
    routed r = route(b, x, tokens, how);
    uint32_t rows = ms_graph_reshape(g, x, b->model->n_embd, 1, tokens, 1);
    uint32_t up = product(b, rows, r.chosen, width, tokens, how);
    uint32_t gate = product(b, rows, r.chosen, width, tokens, how);
    uint32_t inner = ms_graph_result(g, width, used, tokens, 1);
    ms_graph_from(g, inner, gate);
    ms_graph_from(g, inner, up);
    uint32_t unweighted = product(b, inner, r.chosen, b->model->n_embd, tokens, how);
    uint32_t experts = ms_graph_in_place(g, unweighted, r.weights);
    if (experts != NONE)
        g->tensors.items[experts].not_on_cuda = true; /* there the two are one kernel */
    ms_graph_expand(g, experts);
    return sum(b, experts, unweighted, tokens);
}
