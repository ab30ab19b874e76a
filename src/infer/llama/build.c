/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "infer/llama/build.h"

#define NONE MS_GRAPH_NONE

enum { VALUE_ROTATION = 64, HALF = 2, WORD = 4, LONG = 8 };

static const ms_graph_tensor *tensor(const ms_llama_build *b, uint32_t t)
{
    return &b->g->tensors.items[t];
}

/* ---- inputs ---- */

uint32_t ms_llama_gather(ms_llama_build *b, uint32_t indices)
{
    uint32_t table = ms_graph_external(b->g, MS_INFER_HOST, b->model->n_embd, 1);
    uint32_t t = ms_graph_result(b->g, b->model->n_embd, b->tokens, 1, 1);
    ms_graph_from(b->g, t, table);
    ms_graph_from(b->g, t, indices);
    if (t != NONE)
        b->g->tensors.items[t].is_gather = true;
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
    ms_graph *g = b->g;
    uint64_t nt = b->tokens, kv = r->model->layers[0].kv_heads, cells = ms_llama_cells(r, slides);
    ms_llama_cache_inputs in = {.key_rotation = NONE, .value_rotation = NONE};
    for (uint64_t i = 0; i < r->model->n_layer; i++)
        kv = r->model->layers[i].kv_heads > kv ? r->model->layers[i].kv_heads : kv;
    in.key_indices = ms_graph_input(g, LONG, nt, 1, 1, 1);
    in.value_indices = ms_graph_input(g, LONG, r->flash ? nt : nt * kv * r->model->head_v, 1, 1, 1);
    in.mask = ms_graph_input(g, r->flash ? HALF : WORD, cells, nt / r->streams, 1, r->streams);
    if (ms_stored_type_of(r->type_k)->is_quantized && r->model->head_k % VALUE_ROTATION == 0) {
        uint64_t n = rotation_width(r->model->head_k);
        in.key_rotation = ms_graph_input(g, WORD, n, n, 1, 1);
    }
    if (ms_stored_type_of(r->type_v)->is_quantized && r->model->head_v % VALUE_ROTATION == 0)
        in.value_rotation = ms_graph_input(g, WORD, VALUE_ROTATION, VALUE_ROTATION, 1, 1);
    return in;
}

/* Tokens and embeddings are both inputs, whichever a batch has. */
void ms_llama_inputs(ms_llama_build *b)
{
    ms_graph *g = b->g;
    uint32_t tokens = ms_graph_input(g, WORD, b->tokens, 1, 1, 1);
    uint32_t given = ms_graph_input(g, WORD, b->model->n_embd, b->tokens, 1, 1);
    b->embeddings = ms_llama_gather(b, tokens);
    ms_graph_expand(g, b->embeddings);
    ms_graph_expand(g, given);
    b->positions = ms_graph_input(g, WORD, b->tokens, 1, 1, 1);
    for (int slides = 0; slides < 2; slides++)
        if (ms_llama_has_layers(b->model, slides != 0))
            b->caches[slides] = cache_inputs(b, slides != 0);
    b->out_ids = ms_graph_input(g, WORD, b->outputs, 1, 1, 1);
}

/* ---- small operators ---- */

uint32_t ms_llama_unary(ms_llama_build *b, uint32_t x)
{
    return ms_graph_in_place(b->g, x, NONE);
}

uint32_t ms_llama_add(ms_llama_build *b, uint32_t x, uint32_t y)
{
    return ms_graph_in_place(b->g, x, y);
}

static uint32_t with_weight(ms_llama_build *b, uint32_t x)
{
    return ms_graph_in_place(b->g, x, ms_graph_external(b->g, 0, 1, 1));
}

uint32_t ms_llama_norm(ms_llama_build *b, uint32_t x, bool has_bias)
{
    uint32_t t = ms_llama_unary(b, x);
    if (has_bias && t != NONE)
        b->g->tensors.items[t].may_be_in_place = false;
    t = with_weight(b, t);
    return has_bias ? with_weight(b, t) : t;
}

uint32_t ms_llama_linear(ms_llama_build *b, uint32_t x, uint64_t width, bool has_bias)
{
    if (b->g->has_failed)
        return NONE;
    uint32_t w = ms_graph_external(b->g, 0, tensor(b, x)->ne[0], width);
    uint32_t t = w == NONE ? NONE : ms_graph_product(b->g, w, x);
    return has_bias ? with_weight(b, t) : t;
}

uint32_t ms_llama_rope(ms_llama_build *b, uint32_t x)
{
    return ms_graph_in_place(b->g, x, b->positions);
}

uint32_t ms_llama_outputs(ms_llama_build *b, uint32_t x, uint64_t layer)
{
    if (layer + 1 != b->model->n_layer || b->g->has_failed)
        return x;
    uint32_t t = ms_graph_result(b->g, tensor(b, x)->ne[0], b->outputs, 1, 1);
    ms_graph_from(b->g, t, x);
    ms_graph_from(b->g, t, b->out_ids);
    return t;
}

/* ---- attention ---- */

ms_llama_qkv ms_llama_qkv_of(ms_llama_build *b, uint32_t x, uint64_t layer, bool is_fused,
                             bool has_bias)
{
    const ms_llama_layer *l = &b->model->layers[layer];
    uint64_t hk = b->model->head_k, hv = b->model->head_v, nt = b->tokens;
    uint64_t q = l->heads * hk, k = l->kv_heads * hk, v = l->kv_heads * hv;
    ms_llama_qkv of = {NONE, NONE, NONE};
    if (is_fused) {
        uint32_t all = ms_llama_linear(b, x, q + k + v, has_bias);
        uint64_t row = WORD * (q + k + v);
        of.q = ms_graph_part(b->g, all, hk, l->heads, nt, row);
        of.k = ms_graph_part(b->g, all, hk, l->kv_heads, nt, row);
        of.v = ms_graph_part(b->g, all, hv, l->kv_heads, nt, row);
        return of;
    }
    of.q = ms_llama_linear(b, x, q, has_bias);
    of.k = ms_llama_linear(b, x, k, has_bias);
    of.v = ms_llama_linear(b, x, v, has_bias);
    of.q = ms_graph_reshape(b->g, of.q, hk, l->heads, nt, 1);
    of.k = ms_graph_reshape(b->g, of.k, hk, l->kv_heads, nt, 1);
    of.v = ms_graph_reshape(b->g, of.v, hv, l->kv_heads, nt, 1);
    return of;
}

/* Rotated blocks of `n` elements lose less in a quantised cache. */
static uint32_t rotate(ms_llama_build *b, uint32_t x, uint32_t rotation)
{
    if (rotation == NONE || b->g->has_failed)
        return x;
    uint64_t ne[4], n = tensor(b, rotation)->ne[0], elements = 1;
    for (int i = 0; i < 4; i++)
        elements *= ne[i] = tensor(b, x)->ne[i];
    bool is_part = tensor(b, x)->nb[2] != WORD * ne[0] * ne[1];
    if (is_part) { /* a copy */
        uint32_t copy = ms_graph_result(b->g, ne[0], ne[1], ne[2], ne[3]);
        ms_graph_from(b->g, copy, x);
        x = copy;
    }
    uint32_t t = ms_graph_reshape(b->g, x, n, elements / n, 1, 1);
    t = ms_graph_product(b->g, rotation, t);
    return ms_graph_reshape(b->g, t, ne[0], ne[1], ne[2], ne[3]);
}

static uint64_t copied_bytes(const ms_llama_run *r, ms_stored_id type, uint64_t width,
                             uint64_t cells)
{
    bool is_plain = type == MS_STORED_F16 || type == MS_STORED_F32;
    return is_plain ? 0 : HALF * width * cells * r->streams;
}

/* 32-bit floats of the cache become 16-bit ones first. */
static uint32_t cast(ms_llama_build *b, uint32_t cache, ms_stored_id type, uint64_t width,
                     uint64_t cells)
{
    if (type != MS_STORED_F32)
        return cache;
    uint32_t t = ms_graph_result(b->g, width, cells, 1, b->run->streams);
    ms_graph_from(b->g, t, cache);
    if (t != NONE)
        b->g->tensors.items[t].element_bytes = HALF;
    return t;
}

static uint32_t flash(ms_llama_build *b, uint32_t q, uint32_t k, uint32_t v, uint64_t layer)
{
    const ms_llama_run *r = b->run;
    const ms_llama_layer *l = &b->model->layers[layer];
    uint64_t hk = l->kv_heads * b->model->head_k, hv = l->kv_heads * b->model->head_v;
    uint64_t cells = ms_llama_cells(r, l->slides);
    k = cast(b, k, r->type_k, hk, cells);
    v = cast(b, v, r->type_v, hv, cells);
    uint32_t t =
        ms_graph_result(b->g, b->model->head_v, l->heads, b->tokens / r->streams, r->streams);
    const uint32_t from[] = {q, k, v, b->caches[l->slides].mask};
    for (int i = 0; i < 4; i++)
        ms_graph_from(b->g, t, from[i]);
    if (t != NONE)
        b->g->tensors.items[t].extra_bytes =
            copied_bytes(r, r->type_k, hk, cells) + copied_bytes(r, r->type_v, hv, cells);
    return ms_graph_reshape(b->g, t, l->heads * b->model->head_v, b->tokens, 1, 1);
}

static uint32_t plain(ms_llama_build *b, uint32_t q, uint32_t k, uint32_t v, uint64_t layer,
                      bool caps_scores)
{
    const ms_llama_run *r = b->run;
    const ms_llama_layer *l = &b->model->layers[layer];
    uint64_t per_stream = b->tokens / r->streams;
    uint32_t kq =
        ms_graph_result(b->g, ms_llama_cells(r, l->slides), per_stream, l->heads, r->streams);
    ms_graph_from(b->g, kq, k);
    ms_graph_from(b->g, kq, q);
    for (int i = 0; caps_scores && i < 3; i++)
        kq = ms_llama_unary(b, kq);
    kq = ms_graph_in_place(b->g, kq, b->caches[l->slides].mask);
    uint32_t kqv = ms_graph_result(b->g, b->model->head_v, per_stream, l->heads, r->streams);
    ms_graph_from(b->g, kqv, v);
    ms_graph_from(b->g, kqv, kq);
    uint32_t turned = ms_graph_transposed(b->g, kqv);
    uint32_t t = ms_graph_result(b->g, l->heads * b->model->head_v, b->tokens, 1, 1);
    ms_graph_from(b->g, t, turned);
    return t;
}

/* Values are stored turned where attention is not one operator, element by element. */
static uint32_t value_rows(ms_llama_build *b, uint32_t v, uint64_t width)
{
    uint32_t rows = ms_graph_part(b->g, v, width, b->tokens, 1, 0);
    if (b->run->flash || b->g->has_failed)
        return rows;
    bool is_part = tensor(b, v)->nb[2] != WORD * width;
    if (is_part) {
        uint32_t copy = ms_graph_result(b->g, width, b->tokens, 1, 1);
        ms_graph_from(b->g, copy, rows);
        rows = copy;
    } else {
        rows = ms_graph_reshape(b->g, rows, width, b->tokens, 1, 1);
    }
    return ms_graph_reshape(b->g, rows, 1, width * b->tokens, 1, 1);
}

uint32_t ms_llama_attend(ms_llama_build *b, ms_llama_qkv of, uint64_t layer, bool caps_scores,
                         bool has_bias)
{
    const ms_llama_layer *l = &b->model->layers[layer];
    const ms_llama_cache_inputs *in = &b->caches[l->slides];
    uint64_t hk = b->model->head_k, hv = b->model->head_v, ns = b->run->streams;
    of.q = rotate(b, of.q, in->key_rotation);
    of.k = rotate(b, of.k, in->key_rotation);
    of.v = rotate(b, of.v, in->value_rotation);
    ms_graph_expand(b->g, of.q);
    ms_graph_expand(b->g, of.v);
    ms_graph_expand(b->g, of.k);
    uint32_t keys = ms_graph_external(b->g, 0, hk, 1), values = ms_graph_external(b->g, 0, hv, 1);
    uint32_t rows = ms_graph_part(b->g, of.k, l->kv_heads * hk, b->tokens, 1, 0);
    ms_graph_expand(b->g, ms_graph_write(b->g, rows, in->key_indices, keys));
    rows = value_rows(b, of.v, l->kv_heads * hv);
    ms_graph_expand(b->g, ms_graph_write(b->g, rows, in->value_indices, values));
    uint32_t q = ms_graph_reshape(b->g, of.q, hk, l->heads, b->tokens / ns, ns);
    q = ms_graph_transposed(b->g, q);
    uint32_t t = b->run->flash ? flash(b, q, keys, values, layer)
                               : plain(b, q, keys, values, layer, caps_scores);
    ms_graph_expand(b->g, t);
    t = rotate(b, t, in->value_rotation);
    return ms_llama_linear(b, t, b->model->n_embd, has_bias);
}

/* ---- MLPs ---- */

uint32_t ms_llama_dense(ms_llama_build *b, uint32_t x, ms_llama_mlp kind)
{
    uint64_t width = b->model->n_ff;
    if (kind == MS_LLAMA_UNGATED) {
        uint32_t t = ms_llama_unary(b, ms_llama_linear(b, x, width, true));
        return ms_llama_linear(b, t, b->model->n_embd, true);
    }
    uint32_t up = ms_llama_linear(b, x, kind == MS_LLAMA_GATED ? width : 2 * width, false);
    uint32_t gate = kind == MS_LLAMA_GATED ? ms_llama_linear(b, x, width, false) : NONE;
    if (b->g->has_failed)
        return NONE;
    uint32_t t = ms_graph_result(b->g, width, tensor(b, x)->ne[1], 1, 1);
    ms_graph_from(b->g, t, gate);
    ms_graph_from(b->g, t, up);
    return ms_llama_linear(b, t, b->model->n_embd, false);
}
