/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/infer/llama/attention.h"

#define NONE MS_GRAPH_NONE

enum { WORD = 4, HALF = 2, CUDA_PAD = 128 };

static const ms_graph_tensor *tensor(const ms_llama_build *b, uint32_t t)
{
    return ms_llama_tensor_of(b, t);
}

/* ---- projections ---- */

static uint32_t heads_of(ms_llama_build *b, uint32_t all, uint64_t width, uint64_t heads)
{
    if (b->g->has_failed)
        return NONE;
    uint64_t row = tensor(b, all)->nb[1];
    return ms_graph_part(b->g, all, (uint64_t[]){width, heads, b->tokens, 1}, WORD * width, row,
                         row * b->tokens);
}

ms_llama_qkv ms_llama_qkv_of(ms_llama_build *b, uint32_t x, uint64_t layer)
{
    const ms_llama_layer *l = &b->model->layers[layer];
    uint64_t hk = b->model->head_k, hv = b->model->head_v, nt = b->tokens;
    int64_t of_layer = (int64_t)layer;
    ms_llama_qkv of = {NONE, NONE, NONE};
    if (ms_llama_has(b, of_layer, "attn_qkv.weight")) {
        uint32_t all = ms_llama_linear(b, x, of_layer, "attn_qkv");
        of.q = heads_of(b, all, hk, l->heads);
        of.k = heads_of(b, all, hk, l->kv_heads);
        of.v = heads_of(b, all, hv, l->kv_heads);
        return of;
    }
    of.q = ms_llama_linear(b, x, of_layer, "attn_q");
    of.k = ms_llama_linear(b, x, of_layer, "attn_k");
    of.v = ms_llama_linear(b, x, of_layer, "attn_v");
    if (!b->g->has_failed &&
        (tensor(b, of.q)->ne[0] != hk * l->heads || tensor(b, of.k)->ne[0] != hk * l->kv_heads ||
         tensor(b, of.v)->ne[0] != hv * l->kv_heads))
        ms_llama_refuse(b, "attn_q, attn_k or attn_v");
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
    uint64_t ne[4], n = tensor(b, rotation)->ne[0], rows = ms_graph_elements(tensor(b, x)) / n;
    for (int i = 0; i < 4; i++)
        ne[i] = tensor(b, x)->ne[i];
    uint32_t t = ms_graph_is_contiguous(tensor(b, x)) ? ms_graph_reshape(b->g, x, n, rows, 1, 1)
                                                      : ms_graph_contiguous(b->g, x, n, rows, 1, 1);
    t = ms_graph_product(b->g, rotation, t);
    return ms_graph_reshape(b->g, t, ne[0], ne[1], ne[2], ne[3]);
}

/* ---- the cache ---- */

static uint64_t row_bytes(ms_stored_id type, uint64_t elements)
{
    return ms_stored_row_bytes(type, elements).bytes;
}

/* The cells that are read. */
static uint64_t filled(const ms_llama_build *b, const ms_graph_tensor *cache)
{
    return b->filled > 0 && b->filled < cache->ne[1] ? b->filled : cache->ne[1];
}

/* The cache as heads by cells, with its own strides. */
static uint32_t cached(ms_llama_build *b, uint32_t cache, uint64_t head, uint64_t heads)
{
    if (b->g->has_failed)
        return NONE;
    const ms_graph_tensor *c = tensor(b, cache);
    uint64_t of_stream = row_bytes(c->type, c->ne[0] * c->ne[1]);
    return ms_graph_part(b->g, cache, (uint64_t[]){head, heads, filled(b, c), b->run->streams},
                         row_bytes(c->type, head), row_bytes(c->type, c->ne[0]), of_stream);
}

/* Without flash attention values are stored turned: cells are next to each other. */
static uint32_t cached_turned(ms_llama_build *b, uint32_t cache, uint64_t head, uint64_t heads)
{
    if (b->g->has_failed)
        return NONE;
    const ms_graph_tensor *c = tensor(b, cache);
    uint64_t cells = c->ne[1];
    return ms_graph_part(b->g, cache, (uint64_t[]){filled(b, c), heads, head, b->run->streams},
                         row_bytes(c->type, cells * head), row_bytes(c->type, cells),
                         row_bytes(c->type, cells * c->ne[0]));
}

/* Cells of all streams in a row, where there are several. */
static uint32_t merged(ms_llama_build *b, uint32_t cache)
{
    if (b->g->has_failed || b->run->streams == 1)
        return cache;
    const ms_graph_tensor *c = tensor(b, cache);
    return ms_graph_reshape(b->g, cache, c->ne[0], c->ne[1] * c->ne[2], 1, 1);
}

static uint32_t rows_of(ms_llama_build *b, uint32_t x, uint64_t width)
{
    if (b->g->has_failed)
        return NONE;
    uint64_t row = tensor(b, x)->nb[2];
    return ms_graph_part(b->g, x, (uint64_t[]){width, b->tokens, 1, 1}, row, row * b->tokens,
                         row * b->tokens);
}

static void write_rows(ms_llama_build *b, uint32_t x, uint64_t width, uint32_t indices,
                       uint32_t cache)
{
    uint32_t rows = rows_of(b, x, width);
    ms_graph_expand(b->g, ms_graph_write(b->g, rows, indices, merged(b, cache)));
}

/* Element by element. */
static void write_turned(ms_llama_build *b, uint32_t v, uint64_t width, uint32_t indices,
                         uint32_t cache)
{
    if (b->g->has_failed)
        return;
    bool is_dense = tensor(b, v)->nb[2] == WORD * width;
    uint64_t elements = ms_graph_elements(tensor(b, cache));
    uint32_t rows = is_dense ? ms_graph_reshape(b->g, v, width, b->tokens, 1, 1)
                             : ms_graph_contiguous(b->g, v, width, b->tokens, 1, 1);
    uint32_t to = ms_graph_reshape(b->g, cache, 1, elements, 1, 1);
    rows = ms_graph_reshape(b->g, rows, 1, width * b->tokens, 1, 1);
    ms_graph_expand(b->g, ms_graph_write(b->g, rows, indices, to));
}

/* ---- attention ---- */

/* CUDA's kernel for few rows reads some pairs of types as they are; the others need 16-bit copies
 * of keys and values, which are behind the result. */
static uint64_t copied_bytes(const ms_llama_build *b, const ms_graph_tensor *q,
                             const ms_graph_tensor *k, const ms_graph_tensor *v, uint64_t result,
                             bool is_latent)
{
    const ms_device *d = b->run->job->device;
    bool is_quantized =
        ms_stored_type_of(k->type)->is_quantized || ms_stored_type_of(v->type)->is_quantized;
    bool is_alone = is_quantized && d->compute_capability >= 89 ? q->ne[1] <= 2 : q->ne[1] == 1;
    bool has_kernel =
        q->ne[0] <= 256 && q->ne[0] % 64 == 0 && q->ne[0] != 192 && k->type == v->type &&
        (k->type == MS_STORED_Q8_0 || k->type == MS_STORED_Q4_0 || k->type == MS_STORED_BF16);
    uint64_t bytes = result;
    if (is_alone && has_kernel && is_quantized)
        return 0;
    if (k->type != MS_STORED_F16)
        bytes = ms_llama_pad(bytes, CUDA_PAD) + HALF * ms_graph_elements(k);
    if (v->type != MS_STORED_F16 && !is_latent)
        bytes = ms_llama_pad(bytes, CUDA_PAD) + HALF * ms_graph_elements(v);
    return bytes - result;
}

/* Widths of heads for which CUDA has kernels, by what they require of the others. */
static bool has_kernel(const ms_graph_tensor *q, const ms_graph_tensor *k, const ms_graph_tensor *v)
{
    static const struct {
        uint64_t key, value, heads_per_key; /* the last: a divisor */
        bool shares;                        /* several heads attend to one key */
    } kernels[] = {{40, 40, 1, false},   {64, 64, 1, false},  {72, 72, 1, false},
                   {80, 80, 1, false},   {96, 96, 1, false},  {112, 112, 1, false},
                   {128, 128, 1, false}, {192, 128, 8, true}, {256, 256, 1, false},
                   {320, 256, 32, true}, {512, 512, 1, true}, {576, 512, 1, true}};
    uint64_t heads = q->ne[2] / k->ne[2];
    bool has_types = k->type != MS_STORED_IQ4_NL && v->type != MS_STORED_IQ4_NL;
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++)
        if (kernels[i].key == k->ne[0] && kernels[i].value == v->ne[0])
            return has_types && heads % kernels[i].heads_per_key == 0 &&
                   (!kernels[i].shares || heads > 1);
    return false;
}

bool ms_llama_flash_has_kernel(const ms_llama_run *r)
{
    const ms_llama_model *m = r->model;
    const ms_graph_tensor q = {.ne = {m->head_k, 1, 1, 1}},
                          k = {.type = r->type_k, .ne = {m->head_k, 1, 1, 1}};
    const ms_graph_tensor v = {.type = r->type_v, .ne = {m->head_v, 1, 1, 1}};
    return m->latent == 0 && has_kernel(&q, &k, &v);
}

/* 32-bit floats of the cache become 16-bit ones first. */
static uint32_t cast(ms_llama_build *b, uint32_t x)
{
    if (b->g->has_failed || tensor(b, x)->type != MS_STORED_F32)
        return x;
    const uint64_t *ne = tensor(b, x)->ne;
    uint32_t t = ms_graph_leaf(b->g, MS_GRAPH_OTHER, MS_STORED_F16,
                               (uint64_t[]){ne[0], ne[1], ne[2], ne[3]});
    ms_graph_from(b->g, t, x);
    return t;
}

typedef struct attending {
    uint32_t q, k, v, mask, sinks, unfold; /* `unfold`: from latents to values */
    uint64_t layer, heads;
    bool caps_scores, is_turned;
} attending;

static uint32_t flash(ms_llama_build *b, attending a)
{
    a.k = cast(b, a.k);
    a.v = cast(b, a.v);
    if (b->g->has_failed)
        return NONE;
    const ms_graph_tensor *q = tensor(b, a.q), *v = tensor(b, a.v);
    uint32_t t = ms_graph_result(b->g, MS_GRAPH_FLASH, v->ne[0], q->ne[2], q->ne[1], q->ne[3]);
    const uint32_t from[] = {a.q, a.k, a.v, a.mask, a.sinks};
    for (int i = 0; i < 5; i++)
        ms_graph_from(b->g, t, from[i]);
    if (b->g->has_failed)
        return NONE;
    ms_graph_tensor *of = &b->g->tensors.items[t];
    v = tensor(b, a.v);
    of->extra_bytes = copied_bytes(b, tensor(b, a.q), tensor(b, a.k), tensor(b, a.v),
                                   ms_graph_span(of), a.unfold != NONE);
    of->lacks_cuda = !has_kernel(tensor(b, a.q), tensor(b, a.k), v);
    of->place = ms_llama_device_of(b->run, a.layer); /* where it should run */
    if (a.unfold != NONE) {
        t = ms_graph_swapped(b->g, t, 1, 2);
        t = ms_graph_product(b->g, a.unfold, t);
        t = ms_graph_swapped(b->g, t, 1, 2);
        if (b->g->has_failed)
            return NONE;
        const uint64_t *ne = tensor(b, t)->ne;
        t = ms_graph_contiguous(b->g, t, ne[0], ne[1], ne[2], ne[3]);
    }
    if (b->g->has_failed)
        return NONE;
    return ms_graph_reshape(b->g, t, tensor(b, t)->ne[0] * a.heads, b->tokens, 1, 1);
}

static uint32_t plain(ms_llama_build *b, attending a)
{
    uint32_t kq = ms_graph_product(b->g, a.k, a.q);
    if (kq == NONE)
        return NONE;
    b->g->tensors.items[kq].is_precise = true;
    for (int i = 0; a.caps_scores && i < 3; i++)
        kq = ms_llama_unary(b, kq);
    kq = ms_llama_binary(b, kq, a.mask);
    ms_graph_from(b->g, kq, a.sinks);
    if (!a.is_turned && !b->g->has_failed) {
        uint32_t turned = ms_graph_swapped(b->g, a.v, 0, 1);
        if (turned == NONE)
            return NONE;
        const uint64_t *ne = tensor(b, turned)->ne;
        a.v = ms_graph_contiguous(b->g, turned, ne[0], ne[1], ne[2], ne[3]);
    }
    uint32_t t = ms_graph_product(b->g, a.v, kq);
    if (a.unfold != NONE)
        t = ms_graph_product(b->g, a.unfold, t);
    t = ms_graph_swapped(b->g, t, 1, 2);
    if (b->g->has_failed)
        return NONE;
    t = ms_graph_contiguous(b->g, t, tensor(b, t)->ne[0] * a.heads, b->tokens, 1, 1);
    if (t != NONE && b->is_loaded && !b->run->job->settings->llama.kv_offload) {
        b->g->tensors.items[t].has_wish = true;
        b->g->tensors.items[t].place = MS_GRAPH_HOST;
    }
    return t;
}

/* Of queries [head, heads, tokens]; `k` and `v` as in the cache. */
static uint32_t attend(ms_llama_build *b, attending a)
{
    if (b->g->has_failed)
        return NONE;
    const ms_graph_tensor *q = tensor(b, a.q);
    uint64_t per_stream = b->tokens / b->run->streams, nb1 = q->nb[1], nb2 = q->nb[2];
    a.q = ms_graph_part(b->g, a.q, (uint64_t[]){q->ne[0], q->ne[1], per_stream, b->run->streams},
                        nb1, nb2, nb2 * per_stream);
    a.q = ms_graph_swapped(b->g, a.q, 1, 2);
    a.k = ms_graph_swapped(b->g, a.k, 1, 2);
    a.v = ms_graph_swapped(b->g, a.v, 1, 2);
    uint32_t t = b->run->flash ? flash(b, a) : plain(b, a);
    ms_graph_expand(b->g, t);
    return t;
}

uint32_t ms_llama_attend(ms_llama_build *b, ms_llama_qkv of, uint64_t layer, bool caps_scores)
{
    const ms_llama_run *r = b->run;
    const ms_llama_layer *l = &b->model->layers[layer];
    const ms_llama_cache_inputs *in = &b->caches[l->slides];
    uint64_t hk = b->model->head_k, hv = b->model->head_v, cells = ms_llama_cells(r, l->slides);
    bool has_windows = ms_llama_has_layers(b->model, true);
    of.q = rotate(b, of.q, in->key_rotation);
    of.k = rotate(b, of.k, in->key_rotation);
    of.v = rotate(b, of.v, in->value_rotation);
    ms_graph_expand(b->g, of.q);
    ms_graph_expand(b->g, has_windows ? of.k : of.v);
    ms_graph_expand(b->g, has_windows ? of.v : of.k);
    uint32_t keys = ms_llama_memory(b, layer, r->type_k, l->kv_heads * hk, cells, r->streams);
    uint32_t values = ms_llama_memory(b, layer, r->type_v, l->kv_heads * hv, cells, r->streams);
    write_rows(b, of.k, l->kv_heads * hk, in->key_indices, keys);
    if (!r->turns_values)
        write_rows(b, of.v, l->kv_heads * hv, in->value_indices, values);
    else
        write_turned(b, of.v, l->kv_heads * hv, in->value_indices, values);
    attending a = {.q = of.q,
                   .k = cached(b, keys, hk, l->kv_heads),
                   .v = r->turns_values ? cached_turned(b, values, hv, l->kv_heads)
                                        : cached(b, values, hv, l->kv_heads),
                   .mask = in->mask,
                   .sinks = ms_llama_weight(b, (int64_t)layer, "attn_sinks.weight"),
                   .unfold = NONE,
                   .layer = layer,
                   .heads = l->heads,
                   .caps_scores = caps_scores,
                   .is_turned = r->turns_values};
    uint32_t t = rotate(b, attend(b, a), in->value_rotation);
    return ms_llama_linear(b, t, (int64_t)layer, "attn_output");
}

/* ---- latents ---- */

uint32_t ms_llama_attend_latent(ms_llama_build *b, uint32_t x, uint64_t layer)
{
    const ms_llama_model *m = b->model;
    const ms_llama_layer *l = &m->layers[layer];
    const ms_llama_cache_inputs *in = &b->caches[0];
    int64_t of_layer = (int64_t)layer;
    uint64_t width = m->plain_k + m->n_rot, nt = b->tokens, wide = m->latent + m->n_rot;
    uint32_t q;
    if (ms_llama_has(b, of_layer, "attn_q.weight")) {
        q = ms_llama_linear(b, x, of_layer, "attn_q");
    } else {
        q = ms_llama_linear(b, x, of_layer, "attn_q_a");
        q = ms_llama_norm(b, q, of_layer, "attn_q_a_norm", true);
        q = ms_llama_linear(b, q, of_layer, "attn_q_b");
    }
    q = ms_graph_reshape(b->g, q, width, l->heads, nt, 1);
    uint32_t both = ms_llama_linear(b, x, of_layer, "attn_kv_a_mqa");
    uint64_t row = WORD * wide;
    uint32_t latent =
        ms_graph_part(b->g, both, (uint64_t[]){m->latent, nt, 1, 1}, row, row * nt, row * nt);
    uint32_t rotary =
        ms_graph_part(b->g, both, (uint64_t[]){m->n_rot, 1, nt, 1}, row, row, row * nt);
    rotary = ms_llama_rope(b, rotary, of_layer);
    latent = ms_llama_norm(b, latent, of_layer, "attn_kv_a_norm", true);
    uint64_t head = WORD * width, token = head * l->heads;
    uint32_t q_plain =
        ms_graph_part(b->g, q, (uint64_t[]){m->plain_k, l->heads, nt, 1}, head, token, token * nt);
    uint32_t q_rotary =
        ms_graph_part(b->g, q, (uint64_t[]){m->n_rot, l->heads, nt, 1}, head, token, token * nt);
    q_rotary = ms_llama_rope(b, q_rotary, of_layer);
    q_plain = ms_graph_swapped(b->g, q_plain, 1, 2);
    q_plain = ms_llama_linear(b, q_plain, of_layer, "attn_k_b");
    q_plain = ms_graph_swapped(b->g, q_plain, 1, 2);
    q = ms_llama_concat(b, q_plain, q_rotary);
    latent = ms_graph_reshape(b->g, latent, m->latent, 1, nt, 1);
    uint32_t k = ms_llama_concat(b, latent, rotary);
    ms_graph_expand(b->g, q);
    ms_graph_expand(b->g, latent);
    ms_graph_expand(b->g, k);
    uint32_t keys = ms_llama_memory(b, layer, b->run->type_k, wide, ms_llama_cells(b->run, false),
                                    b->run->streams);
    write_rows(b, k, wide, in->key_indices, keys);
    attending a = {.q = q,
                   .k = cached(b, keys, wide, 1),
                   .mask = in->mask,
                   .sinks = NONE,
                   .unfold = ms_llama_weight(b, of_layer, "attn_v_b.weight"),
                   .layer = layer,
                   .heads = l->heads};
    if (b->g->has_failed)
        return NONE;
    const ms_graph_tensor c = *tensor(b, a.k);
    a.v = ms_graph_part(b->g, a.k, (uint64_t[]){m->latent, c.ne[1], c.ne[2], c.ne[3]}, c.nb[1],
                        c.nb[2], c.nb[3]);
    return ms_llama_linear(b, attend(b, a), of_layer, "attn_output");
}
