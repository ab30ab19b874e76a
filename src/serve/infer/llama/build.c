/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/infer/llama/build.h"

#include <stdio.h>
#include <string.h>

#include "serve/infer/llama/tensors.h"

#define NONE MS_GRAPH_NONE

enum { VALUE_ROTATION = 64, FIRST_LAYER = -2, FEW_TOKENS = 32 };

const ms_graph_tensor *ms_llama_tensor_of(const ms_llama_build *b, uint32_t t)
{
    return &b->g->tensors.items[t];
}

/* ---- weights ---- */

bool ms_llama_build_open(ms_llama_build *b)
{
    uint32_t count = b->model->tensors.count;
    size_t layers = (size_t)b->model->n_layer + 3;
    b->leaf = malloc((count + 1) * sizeof *b->leaf);
    b->next = malloc((count + 1) * sizeof *b->next);
    b->first = malloc(layers * sizeof *b->first);
    b->part = malloc((count + 1) * sizeof *b->part);
    if (!b->leaf || !b->next || !b->first || !b->part)
        return false;
    memset(b->leaf, 0xff, count * sizeof *b->leaf); /* NONE */
    memset(b->first, 0xff, layers * sizeof *b->first);
    memset(b->shared, 0xff, sizeof b->shared);
    for (uint32_t i = count; i-- > 0;) {
        uint32_t *first = &b->first[b->model->tensors.items[i].layer - FIRST_LAYER];
        int64_t layer;
        b->part[i] = ms_llama_tensor_part(b->model->tensors.items[i].name, &layer);
        b->next[i] = *first;
        *first = i;
    }
    return true;
}

void ms_llama_build_close(ms_llama_build *b)
{
    free(b->leaf);
    free((void *)b->part);
    free(b->next);
    free(b->first);
}

ms_llama_name ms_llama_name_of(const char *stem, const char *end)
{
    ms_llama_name name;
    size_t length = strlen(stem), more = strlen(end);
    if (length + more >= sizeof name.text)
        length = more = 0;
    memcpy(name.text, stem, length);
    memcpy(name.text + length, end, more);
    name.text[length + more] = '\0';
    return name;
}

static uint32_t find(const ms_llama_build *b, int64_t layer, const char *name)
{
    uint32_t i = b->first[layer - FIRST_LAYER];
    while (i != NONE && strcmp(b->part[i], name) != 0)
        i = b->next[i];
    return i;
}

bool ms_llama_has(const ms_llama_build *b, int64_t layer, const char *name)
{
    return find(b, layer, name) != NONE;
}

static uint32_t make_leaf(ms_llama_build *b, const ms_llama_tensor *of, int place)
{
    uint32_t t = ms_graph_leaf(b->g, MS_GRAPH_WEIGHT, of->type, of->shape);
    if (t != NONE)
        b->g->tensors.items[t].place = place;
    return t;
}

uint32_t ms_llama_weight(ms_llama_build *b, int64_t layer, const char *name)
{
    uint32_t i = find(b, layer, name);
    if (i == NONE)
        return NONE;
    if (b->leaf[i] == NONE)
        b->leaf[i] = make_leaf(b, &b->model->tensors.items[i],
                               ms_llama_tensor_device(b->run, &b->model->tensors.items[i]));
    return b->leaf[i];
}

void ms_llama_refuse(ms_llama_build *b, const char *name)
{
    if (!b->g->has_failed)
        snprintf(b->lacking, sizeof b->lacking, "%s", name);
    b->g->has_failed = true;
}

uint32_t ms_llama_weight_needed(ms_llama_build *b, int64_t layer, const char *name)
{
    uint32_t t = ms_llama_weight(b, layer, name);
    if (t == NONE)
        ms_llama_refuse(b, name);
    return t;
}

uint32_t ms_llama_memory(ms_llama_build *b, uint64_t layer, ms_stored_id type, uint64_t ne0,
                         uint64_t ne1, uint64_t ne2)
{
    uint32_t t = ms_graph_leaf(b->g, MS_GRAPH_MEMORY, type, (uint64_t[]){ne0, ne1, ne2, 1});
    if (t != NONE)
        b->g->tensors.items[t].place = ms_llama_cache_device(b->run, layer);
    return t;
}

/* ---- inputs ---- */

uint32_t ms_llama_gather(ms_llama_build *b, const char *table, uint32_t indices)
{
    uint32_t rows = ms_llama_weight_needed(b, MS_LLAMA_INPUT, table);
    uint32_t t = ms_graph_result(b->g, MS_GRAPH_GATHER, b->model->n_embd, b->tokens, 1, 1);
    ms_graph_from(b->g, t, rows);
    ms_graph_from(b->g, t, indices);
    return t;
}

/* The largest power of two that divides a head's width. */
static uint64_t rotation_width(uint64_t head)
{
    return head & (~head + 1);
}

static ms_llama_cache_inputs cache_inputs(ms_llama_build *b, bool slides)
{
    const ms_llama_run *r = b->run;
    const ms_llama_model *m = b->model;
    ms_graph *g = b->g;
    uint64_t nt = b->tokens, kv = 0, cells = ms_llama_cells(r, slides);
    if (b->filled > 0 && b->filled < cells)
        cells = b->filled;
    ms_llama_cache_inputs in = {.key_rotation = NONE, .value_rotation = NONE};
    for (uint64_t i = 0; i < m->n_layer; i++)
        kv = m->layers[i].kv_heads > kv ? m->layers[i].kv_heads : kv;
    in.key_indices = ms_graph_input(g, MS_STORED_I64, nt, 1, 1, 1);
    in.value_indices =
        ms_graph_input(g, MS_STORED_I64, r->turns_values ? nt * kv * m->head_v : nt, 1, 1, 1);
    in.mask = ms_graph_input(g, r->flash ? MS_STORED_F16 : MS_STORED_F32, cells, nt / r->streams, 1,
                             r->streams);
    if (m->latent > 0)
        return in;
    if (ms_stored_type_of(r->type_k)->is_quantized && m->head_k % VALUE_ROTATION == 0) {
        uint64_t n = rotation_width(m->head_k);
        in.key_rotation = ms_graph_input(g, MS_STORED_F32, n, n, 1, 1);
    }
    if (ms_stored_type_of(r->type_v)->is_quantized && m->head_v % VALUE_ROTATION == 0)
        in.value_rotation = ms_graph_input(g, MS_STORED_F32, VALUE_ROTATION, VALUE_ROTATION, 1, 1);
    return in;
}

/* Tokens and embeddings are both inputs, whichever a batch has. */
void ms_llama_inputs(ms_llama_build *b)
{
    ms_graph *g = b->g;
    uint32_t tokens = ms_graph_input(g, MS_STORED_I32, b->tokens, 1, 1, 1);
    uint32_t given = ms_graph_input(g, MS_STORED_F32, b->model->n_embd, b->tokens, 1, 1);
    b->embeddings = ms_llama_gather(b, "token_embd.weight", tokens);
    ms_graph_expand(g, b->embeddings);
    ms_graph_expand(g, given);
    b->positions = ms_graph_input(g, MS_STORED_I32, b->tokens, 1, 1, 1);
    for (int slides = 0; slides < 2; slides++)
        if (ms_llama_has_layers(b->model, slides != 0))
            b->caches[slides] = cache_inputs(b, slides != 0);
    uint32_t states = ms_graph_input(g, MS_STORED_I32, b->run->n_seq, 1, 1, 1);
    b->state_rows = ms_graph_reshape(g, states, b->run->n_seq, 1, 1, 1);
    b->no_rows = ms_graph_reshape(g, states, 0, 1, 1, 1);
    b->out_ids = ms_graph_input(g, MS_STORED_I32, b->outputs, 1, 1, 1);
}

/* ---- operators ---- */

uint32_t ms_llama_unary(ms_llama_build *b, uint32_t x)
{
    return ms_graph_in_place(b->g, MS_GRAPH_OTHER, x, NONE);
}

uint32_t ms_llama_binary(ms_llama_build *b, uint32_t x, uint32_t y)
{
    return ms_graph_in_place(b->g, MS_GRAPH_OTHER, x, y);
}

static uint32_t named(ms_llama_build *b, int64_t layer, const char *name, const char *suffix)
{
    return ms_llama_weight(b, layer, ms_llama_name_of(name, suffix).text);
}

uint32_t ms_llama_norm(ms_llama_build *b, uint32_t x, int64_t layer, const char *name,
                       bool is_of_layer)
{
    uint32_t weight = named(b, layer, name, ".weight"), bias = named(b, layer, name, ".bias");
    uint32_t t = ms_llama_unary(b, x);
    if (t == NONE)
        return NONE;
    ms_graph_tensor *of = &b->g->tensors.items[t];
    if (b->model->arch == MS_LLAMA_GPT2) /* not of the root mean square */
        of->may_be_in_place = false;
    bool wishes = b->is_loaded && (b->tokens < FEW_TOKENS || b->run->first_device_layer == 0);
    if (is_of_layer && wishes && weight != NONE) {
        of->has_wish = true;
        of->place = ms_llama_device_of(b->run, (uint64_t)layer);
    }
    if (weight != NONE)
        t = ms_llama_binary(b, t, weight);
    return bias == NONE ? t : ms_llama_binary(b, t, bias);
}

uint32_t ms_llama_linear(ms_llama_build *b, uint32_t x, int64_t layer, const char *name)
{
    const ms_llama_name full = ms_llama_name_of(name, ".weight");
    uint32_t w = ms_llama_weight_needed(b, layer, full.text), bias = named(b, layer, name, ".bias");
    if (w == NONE || x == NONE)
        return NONE;
    if (ms_llama_tensor_of(b, w)->ne[0] != ms_llama_tensor_of(b, x)->ne[0]) {
        ms_llama_refuse(b, full.text);
        return NONE;
    }
    uint32_t t = ms_graph_product(b->g, w, x);
    return bias == NONE ? t : ms_llama_binary(b, t, bias);
}

uint32_t ms_llama_head(ms_llama_build *b, uint32_t x)
{
    int64_t layer = (int64_t)b->model->n_layer;
    int place = ms_llama_device_of(b->run, b->model->n_layer);
    if (!b->model->is_tied)
        return ms_llama_linear(b, x, layer, "output");
    uint32_t table = ms_llama_weight_needed(b, MS_LLAMA_INPUT, "token_embd.weight");
    uint32_t i = find(b, MS_LLAMA_INPUT, "token_embd.weight");
    if (table != NONE && place != MS_INFER_HOST) /* a second copy of it */
        table = make_leaf(b, &b->model->tensors.items[i], place);
    return table == NONE ? NONE : ms_graph_product(b->g, table, x);
}

uint32_t ms_llama_rope(ms_llama_build *b, uint32_t x, int64_t layer)
{
    static const char *const factors[] = {"rope_freqs.weight", "rope_factors_long.weight",
                                          "rope_factors_short.weight"};
    uint32_t t = ms_graph_in_place(b->g, MS_GRAPH_ROPE, x, b->positions);
    int place = ms_llama_device_of(b->run, (uint64_t)layer);
    uint32_t *shared = &b->shared[place + 1], i = NONE;
    for (size_t k = 0; k < sizeof factors / sizeof factors[0] && i == NONE; k++)
        i = find(b, MS_LLAMA_SHARED, factors[k]);
    if (*shared == NONE && i != NONE)
        *shared = make_leaf(b, &b->model->tensors.items[i], place);
    ms_graph_from(b->g, t, *shared);
    return t;
}

uint32_t ms_llama_glu(ms_llama_build *b, uint32_t gate, uint32_t up)
{
    if (b->g->has_failed)
        return NONE;
    const uint64_t *ne = ms_llama_tensor_of(b, gate)->ne;
    uint32_t t = ms_graph_result(b->g, MS_GRAPH_OTHER, ne[0], ne[1], ne[2], ne[3]);
    ms_graph_from(b->g, t, gate);
    ms_graph_from(b->g, t, up);
    return t;
}

uint32_t ms_llama_concat(ms_llama_build *b, uint32_t x, uint32_t y)
{
    if (b->g->has_failed)
        return NONE;
    const ms_graph_tensor *p = ms_llama_tensor_of(b, x), *q = ms_llama_tensor_of(b, y);
    uint32_t t =
        ms_graph_result(b->g, MS_GRAPH_OTHER, p->ne[0] + q->ne[0], p->ne[1], p->ne[2], p->ne[3]);
    ms_graph_from(b->g, t, x);
    ms_graph_from(b->g, t, y);
    return t;
}

uint32_t ms_llama_output_rows(ms_llama_build *b, uint32_t x)
{
    if (b->g->has_failed)
        return NONE;
    uint32_t t =
        ms_graph_result(b->g, MS_GRAPH_GATHER, ms_llama_tensor_of(b, x)->ne[0], b->outputs, 1, 1);
    ms_graph_from(b->g, t, x);
    ms_graph_from(b->g, t, b->out_ids);
    return t;
}

uint32_t ms_llama_dense(ms_llama_build *b, uint32_t x, int64_t layer, ms_llama_mlp kind,
                        const char *suffix)
{
    uint32_t t, up = ms_llama_linear(b, x, layer, ms_llama_name_of("ffn_up", suffix).text);
    if (b->g->has_failed)
        return NONE;
    if (kind == MS_LLAMA_GATED) {
        t = ms_llama_glu(b, ms_llama_linear(b, x, layer, ms_llama_name_of("ffn_gate", suffix).text),
                         up);
    } else if (kind == MS_LLAMA_UNGATED) {
        t = ms_llama_unary(b, up);
    } else {
        const uint64_t *ne = ms_llama_tensor_of(b, up)->ne;
        t = ms_graph_result(b->g, MS_GRAPH_OTHER, ne[0] / 2, ne[1], 1, 1);
        ms_graph_from(b->g, t, up);
    }
    return ms_llama_linear(b, t, layer, ms_llama_name_of("ffn_down", suffix).text);
}
