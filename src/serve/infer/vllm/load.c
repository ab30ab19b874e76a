/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/infer/vllm/load.h"

#include <inttypes.h>

#include "base/vec.h"
#include "input/config/model/model_config.h"
#include "input/config/quantize/quantize.h"
#include "serve/infer/vllm/quantized/marlin_linear.h"

/* ---- weights ---- */

typedef struct ms_vllm_weights {
    const ms_vllm_setup *s;
    ms_vllm_tape *tape;
    ms_vec(ms_vllm_linear) linears; /* that are not plain, in the order of the model */
    bool has_failed;                /* out of memory */
    uint64_t odd_out, odd_in;       /* of a layer that the scheme's kernel does not take; 0: none */
} ms_vllm_weights;

enum {
    WEIGHTS_SCALAR = 4,
    INT32 = 4,
    INT64 = 8,
    WEIGHTS_FLOAT = 4,
    HOPPER = 90,
    MXFP4_STEP = 64, /* groups of 32, two at a time */
    PACKED = 8       /* weights of 4 bits in an int32 */
};

/* A tensor in the model's type. */
static ms_block vllm_weight(ms_vllm_weights *w, uint64_t rows, uint64_t columns)
{
    return ms_vllm_take(w->tape, ms_vllm_size(rows, columns, MS_VLLM_ELEMENT));
}

static ms_block take(ms_vllm_weights *w, uint64_t a, uint64_t b, uint64_t bytes)
{
    return ms_vllm_take(w->tape, ms_vllm_size(a, b, bytes));
}

static void give(ms_vllm_weights *w, ms_block block)
{
    ms_vllm_give(w->tape, block);
}

static uint64_t groups_of(const ms_vllm_weights *w, uint64_t in)
{
    uint64_t group = w->s->scheme.group;
    return group > 0 ? ms_vllm_ceil_div(in, group) : 1;
}

static ms_block packed(ms_vllm_weights *w, uint64_t count, uint64_t out)
{
    return take(w, count, ms_vllm_ceil_div(out, PACKED), INT32);
}

/* ---- when a model is built ---- */

static void finish_later(ms_vllm_weights *w, ms_vllm_linear linear)
{
    w->has_failed = !ms_vec_push(&w->linears, linear) || w->has_failed;
}

static void refuse_widths(ms_vllm_weights *w, uint64_t out, uint64_t in)
{
    w->odd_out = out;
    w->odd_in = in;
}

/* Other widths have other kernels, or cannot be read. */
static void check_widths(ms_vllm_weights *w, uint64_t out, uint64_t in)
{
    const ms_vllm_scheme_row *row = ms_vllm_scheme_row_of(w->s->scheme.kind);
    uint64_t group = w->s->scheme.group;
    bool is_marlin = w->s->scheme.runs_marlin;
    if (is_marlin ? ms_vllm_marlin_linear_takes(out, in) && (group == 0 || in % group == 0)
                  : (row->in_step == 0 || in % row->in_step == 0) &&
                        (row->out_step == 0 || out % row->out_step == 0) &&
                        (group == 0 || in % group == 0))
        return;
    refuse_widths(w, out, in);
}

/* Zeros are made for all, and dropped by those that are symmetric. */
static void build_packed(ms_vllm_weights *w, ms_vllm_linear *l)
{
    uint64_t groups = groups_of(w, l->in);
    l->weight = packed(w, l->in, l->out);
    l->scales = vllm_weight(w, groups, l->out);
    ms_block zeros = packed(w, groups, l->out);
    (void)take(w, 2, INT64, 1); /* the shape */
    give(w, zeros);
}

/* While the model is built. */
static void vllm_linear_build(ms_vllm_weights *w, uint64_t out, uint64_t in)
{
    check_widths(w, out, in);
    ms_vllm_linear linear = {.out = out, .in = in};
    uint64_t blocks = ms_vllm_ceil_div(in, MS_FP8_BLOCK);
    switch (w->s->scheme.kind) {
    case MS_VLLM_PLAIN:
    case MS_VLLM_MXFP4:
        (void)vllm_weight(w, out, in);
        return;
    case MS_VLLM_FP8_BLOCK:
        linear.weight = take(w, out, in, 1);
        linear.scales = take(w, ms_vllm_ceil_div(out, MS_FP8_BLOCK), blocks, WEIGHTS_FLOAT);
        break;
    case MS_VLLM_FP8_ROWS:
        (void)take(w, out, in, 1);
        (void)take(w, out, 1, WEIGHTS_FLOAT);
        return;
    case MS_VLLM_PACKED:
        build_packed(w, &linear);
        break;
    case MS_VLLM_GPTQ:
    case MS_VLLM_AWQ:
        linear.weight = packed(w, in, out);
        if (w->s->scheme.kind == MS_VLLM_GPTQ)
            linear.order = take(w, in, INT32, 1);
        linear.zeros = packed(w, groups_of(w, in), out);
        linear.scales = vllm_weight(w, groups_of(w, in), out);
        break;
    case MS_VLLM_FP8_MADE:
    case MS_VLLM_SCHEMES:
        break;
    }
    finish_later(w, linear);
}

static void vllm_experts_build(ms_vllm_weights *w, uint64_t count, uint64_t width, uint64_t hidden,
                               bool has_biases)
{
    if (w->s->scheme.kind == MS_VLLM_FP8_BLOCK) {
        uint64_t blocks = ms_vllm_ceil_div(hidden, MS_FP8_BLOCK);
        (void)take(w, count * 2 * width, hidden, 1);
        (void)take(w, count * hidden, width, 1);
        (void)take(w, count * ms_vllm_ceil_div(2 * width, MS_FP8_BLOCK), blocks, WEIGHTS_FLOAT);
        (void)take(w, count * blocks, ms_vllm_ceil_div(width, MS_FP8_BLOCK), WEIGHTS_FLOAT);
        return;
    }
    if (w->s->scheme.kind == MS_VLLM_MXFP4) {
        ms_vllm_linear all = {.out = width, .in = hidden, .experts = count};
        all.mxfp4 = ms_vllm_mxfp4_build(w->s, w->tape);
        if (width % MXFP4_STEP != 0 || hidden % MXFP4_STEP != 0)
            refuse_widths(w, width, hidden);
        finish_later(w, all);
        return;
    }
    if (w->s->scheme.kind != MS_VLLM_PLAIN) {
        ms_vllm_linear all = {.out = width, .in = hidden, .experts = count};
        if (w->s->scheme.kind != MS_VLLM_FP8_MADE)
            all.marlin = ms_vllm_marlin_build(w->s, w->tape);
        check_widths(w, 2 * width, hidden);
        check_widths(w, hidden, width);
        finish_later(w, all);
        return;
    }
    (void)vllm_weight(w, count * 2 * width, hidden);
    if (has_biases)
        (void)vllm_weight(w, count * 2 * width, 1);
    (void)vllm_weight(w, count * hidden, width);
    if (has_biases)
        (void)vllm_weight(w, count * hidden, 1);
}

/* ---- fp8 that is made on loading ---- */

/* A copy in fp8 that its place in the tensor of all experts is filled from, and its scale. */
static void expert_copy(ms_vllm_weights *w, uint64_t rows, uint64_t columns)
{
    ms_block copy = take(w, rows, columns, 1), scale = take(w, 1, 1, WEIGHTS_SCALAR);
    give(w, copy);
    give(w, scale);
}

static void make_experts(ms_vllm_weights *w, const ms_vllm_linear *l)
{
    uint64_t count = l->experts, gate_up = 2 * l->out;
    ms_block first = vllm_weight(w, count * gate_up, l->in);
    ms_block second = vllm_weight(w, count * l->in, l->out);
    (void)take(w, count * gate_up, l->in, 1);
    (void)take(w, count * l->in, l->out, 1);
    (void)take(w, count, 1, WEIGHTS_SCALAR);
    (void)take(w, count, 1, WEIGHTS_SCALAR);
    for (uint64_t i = 0; i < count; i++) {
        expert_copy(w, gate_up, l->in);
        expert_copy(w, l->in, l->out);
    }
    give(w, first);
    give(w, second);
}

/* As loaded, in fp8, and the scale of all. */
static void make_fp8(ms_vllm_weights *w, const ms_vllm_linear *l)
{
    if (l->experts > 0) {
        make_experts(w, l);
        return;
    }
    ms_vllm_linear now = *l;
    ms_block loaded = vllm_weight(w, l->out, l->in);
    now.weight = take(w, l->out, l->in, 1);
    now.scales = take(w, 1, 1, WEIGHTS_SCALAR);
    if (w->s->scheme.runs_marlin)
        ms_vllm_marlin_linear_finish_fp8(w->s, w->tape, &now);
    give(w, loaded);
}

/* ---- fp8 in blocks ---- */

/* DeepGEMM wants scales that are powers of two: weights are scaled, and quantised anew in place. */
static void requantise(ms_vllm_weights *w, const ms_vllm_linear *l)
{
    uint64_t blocks = ms_vllm_ceil_div(l->in, MS_FP8_BLOCK);
    ms_block rows = take(w, l->out, blocks, WEIGHTS_FLOAT),
             scales = take(w, l->out, l->in, WEIGHTS_FLOAT);
    ms_block cast = take(w, l->out, l->in, WEIGHTS_FLOAT),
             scaled = take(w, l->out, l->in, WEIGHTS_FLOAT);
    give(w, cast);
    ms_block divided = take(w, l->out, l->in, 1), copy = take(w, l->out, l->in, 1);
    give(w, divided);
    give(w, rows);
    give(w, scales);
    give(w, scaled);
    give(w, copy);
}

/* Latent attention multiplies by the up-projection's weights in the model's type: the layer's
 * product with a unit matrix. */
static void absorb(ms_vllm_weights *w)
{
    const ms_vllm_setup *s = w->s;
    const ms_model_config *c = s->config;
    uint64_t rank = c->latent_rank, blocks = ms_vllm_ceil_div(rank, MS_FP8_BLOCK);
    ms_block unit = vllm_weight(w, rank, rank), input = take(w, rank, rank, 1);
    ms_block scales = take(w, rank, blocks, WEIGHTS_FLOAT);
    (void)vllm_weight(w, s->heads * (c->plain_key_dim + ms_value_dim(c)), rank);
    give(w, input);
    give(w, scales);
    give(w, unit);
}

/* ---- 4 bits: Machete's order of weights ---- */

/* A packed tensor is unpacked, put in order and packed anew. The last unpacked one is returned, as
 * it lives until all of a layer is converted. */
static ms_block reorder(ms_vllm_weights *w, uint64_t count, uint64_t out, ms_block *now)
{
    ms_block bits = take(w, count, out, INT32), masked = take(w, count, out, INT32);
    give(w, bits);
    ms_block ordered = take(w, count, out, INT32);
    give(w, masked);
    ms_block shifted = take(w, count, out, INT32);
    *now = packed(w, count, out);
    give(w, shifted);
    return ordered;
}

/* AWQ packs in another order than GPTQ. */
static void reorder_awq(ms_vllm_weights *w, const ms_vllm_linear *l, ms_vllm_linear *now)
{
    uint64_t groups = groups_of(w, l->in);
    ms_block order = take(w, PACKED, 8, 1), shifts = take(w, PACKED, INT32, 1);
    ms_block weights = reorder(w, l->in, l->out, &now->weight);
    ms_block zeros = reorder(w, groups, l->out, &now->zeros);
    give(w, order);
    give(w, shifts);
    give(w, l->weight);
    give(w, weights);
    give(w, l->zeros);
    give(w, zeros);
}

static void machete_weight(ms_vllm_weights *w, const ms_vllm_linear *l)
{
    ms_block turned = packed(w, l->in, l->out);
    (void)packed(w, l->in, l->out);
    give(w, turned);
    give(w, l->weight);
}

/* Zeros are unpacked, one of 8 after the other, and then in the model's type, times scales. */
static void machete_zeros(ms_vllm_weights *w, const ms_vllm_linear *l)
{
    uint64_t groups = groups_of(w, l->in);
    ms_block unpacked = take(w, groups, l->out, INT32);
    for (int i = 0; i < PACKED; i++) {
        ms_block shifted = packed(w, groups, l->out), masked = packed(w, groups, l->out);
        give(w, shifted);
        give(w, masked);
    }
    ms_block negative = vllm_weight(w, groups, l->out), cast = vllm_weight(w, groups, l->out);
    (void)vllm_weight(w, groups, l->out);
    give(w, negative);
    give(w, cast);
    give(w, l->zeros);
    give(w, unpacked);
}

/* ---- when all are loaded ---- */

static void finish_marlin(ms_vllm_weights *w, const ms_vllm_linear *l)
{
    ms_vllm_linear now = *l;
    if (w->s->scheme.kind == MS_VLLM_FP8_BLOCK) {
        ms_vllm_marlin_linear_finish_fp8(w->s, w->tape, l);
        return;
    }
    if (w->s->scheme.kind == MS_VLLM_AWQ)
        reorder_awq(w, l, &now);
    ms_vllm_marlin_linear_finish(w->s, w->tape, &now);
}

static void finish(ms_vllm_weights *w, const ms_vllm_linear *l)
{
    ms_vllm_linear now = *l;
    if (w->s->scheme.kind == MS_VLLM_MXFP4) {
        ms_vllm_mxfp4_finish(w->s, w->tape, &l->mxfp4);
        return;
    }
    if (l->experts > 0 && w->s->scheme.kind != MS_VLLM_FP8_MADE) {
        ms_vllm_marlin_finish(w->s, w->tape, &l->marlin);
        return;
    }
    if (w->s->scheme.runs_marlin && w->s->scheme.kind != MS_VLLM_FP8_MADE) {
        finish_marlin(w, l);
        return;
    }
    switch (w->s->scheme.kind) {
    case MS_VLLM_FP8_MADE:
        make_fp8(w, l);
        break;
    case MS_VLLM_GPTQ:
        machete_weight(w, l);
        break;
    case MS_VLLM_AWQ:
        reorder_awq(w, l, &now);
        machete_weight(w, &now);
        machete_zeros(w, &now);
        break;
    case MS_VLLM_FP8_BLOCK:
        if (w->s->job->device->compute_capability >= HOPPER)
            requantise(w, l);
        break;
    case MS_VLLM_PACKED:
        (void)packed(w, l->in, l->out);
        give(w, l->weight);
        (void)vllm_weight(w, groups_of(w, l->in), l->out);
        give(w, l->scales);
        break;
    case MS_VLLM_FP8_ROWS:
    case MS_VLLM_PLAIN:
    case MS_VLLM_MXFP4:
    case MS_VLLM_SCHEMES:
        break;
    }
}

/* When all are loaded, of so many layers. Frees the list. MS_ERR_CONFIG: a layer's widths are not
 * known. */
static ms_status vllm_weights_finish(ms_vllm_weights *w, uint64_t layers, ms_error *err)
{
    for (uint32_t i = 0; i < w->linears.count && !w->has_failed; i++)
        finish(w, &w->linears.items[i]);
    for (uint64_t i = 0; i < layers && w->s->arch->is_latent; i++)
        if (w->s->scheme.kind != MS_VLLM_PLAIN)
            absorb(w);
    ms_vec_free(&w->linears);
    if (w->odd_in > 0)
        return ms_fail(err, MS_ERR_CONFIG,
                       "vllm: a linear layer from %" PRIu64 " to %" PRIu64
                       " features is not supported in %s",
                       w->odd_in, w->odd_out, ms_vllm_scheme_row_of(w->s->scheme.kind)->name);
    return w->has_failed ? ms_infer_no_memory(err) : MS_OK;
}

/* ---- load ---- */

enum {
    SCALAR = 4,
    FLOAT = 4,
    SCALES = 4,                 /* of a layer's attention: query, key, value, probabilities */
    DEEP_GEMM_BYTES = 32 << 20, /* its workspace, made when it is first asked for */
    RANGES = 3,                 /* and constants to compute them from, until weights are there */
};

typedef struct load {
    const ms_vllm_setup *s;
    ms_vllm_tape *tape;
    ms_vllm_weights weights;
    const ms_vllm_scheme_row *scheme;
    uint64_t rotaries;
    bool has_deep_gemm, has_failed;
    ms_vec(ms_block) dropped; /* when all weights are there */
} load;

static ms_block weight(load *l, uint64_t rows, uint64_t columns)
{
    return vllm_weight(&l->weights, rows, columns);
}

static void drop_later(load *l, ms_block block)
{
    l->has_failed = !ms_vec_push(&l->dropped, block) || l->has_failed;
}

static void linear(load *l, uint64_t out, uint64_t in, bool has_bias)
{
    vllm_linear_build(&l->weights, out, in);
    if (has_bias)
        (void)weight(l, out, 1);
}

/* ---- attention ---- */

/* Cosines or sines of all angles, which yarn scales. */
static ms_block waves(load *l, ms_size bytes)
{
    ms_block plain = ms_vllm_take(l->tape, bytes);
    if (!l->s->rotary.is_yarn)
        return plain;
    ms_block scaled = ms_vllm_take(l->tape, bytes);
    ms_vllm_give(l->tape, plain);
    return scaled;
}

/* In fp32 until it is there: angles, cosines, sines, both side by side. */
static void rotary(load *l)
{
    const ms_vllm_rotary *r = &l->s->rotary;
    uint64_t most = l->s->arch->has_two_rotaries ? 2 : 1;
    if (l->rotaries++ >= most)
        return;
    ms_size half = ms_vllm_size(r->rows, r->width / 2, FLOAT);
    ms_block inverse = ms_vllm_take(l->tape, ms_vllm_size(r->width / 2, FLOAT, 1));
    ms_block positions = ms_vllm_take(l->tape, ms_vllm_size(r->rows, FLOAT, 1));
    ms_block angles = ms_vllm_take(l->tape, half);
    ms_block cosines = waves(l, half);
    ms_block sines = waves(l, half);
    ms_block both = ms_vllm_take(l->tape, ms_vllm_size(r->rows, r->width, FLOAT));
    ms_vllm_give(l->tape, inverse);
    ms_vllm_give(l->tape, positions);
    ms_vllm_give(l->tape, angles);
    ms_vllm_give(l->tape, cosines);
    ms_vllm_give(l->tape, sines);
    if (l->s->arch->table == MS_VLLM_TABLE_WIDE_FIRST)
        l->tape->wide_table = both;
    if (l->s->arch->table != MS_VLLM_TABLE_NARROW)
        return;
    (void)ms_vllm_take(l->tape, ms_vllm_size(r->rows, r->width, MS_VLLM_ELEMENT));
    ms_vllm_give(l->tape, both);
}

static void head_norms(load *l, ms_vllm_head_norms when)
{
    if (l->s->arch->head_norms != when)
        return;
    (void)weight(l, l->s->config->head_dim, 1);
    (void)weight(l, l->s->config->head_dim, 1);
}

/* 0.25.1 asks for it where something is quantised, on Hopper and on Blackwell of data centres. */
static void deep_gemm(load *l)
{
    uint32_t capability = l->s->job->device->compute_capability;
    if (l->has_deep_gemm || !l->s->is_025 || (capability != 90 && capability != 100))
        return;
    (void)ms_vllm_take(l->tape, ms_size_of(DEEP_GEMM_BYTES));
    l->has_deep_gemm = true;
}

/* With quantised weights, files may have scales of the cache: they are looked for, and constants to
 * compute scales from are kept. */
static void scales(load *l)
{
    for (int i = 0; i < SCALES; i++)
        (void)ms_vllm_take(l->tape, ms_size_of(SCALAR));
    for (int i = 0; i < RANGES; i++) {
        ms_block range = ms_vllm_take(l->tape, ms_size_of(SCALAR));
        if (!l->scheme->keeps_ranges || l->s->arch->is_latent)
            drop_later(l, range);
    }
    for (uint32_t i = 0; i < l->scheme->cache_scales; i++)
        drop_later(l, ms_vllm_take(l->tape, ms_size_of(SCALAR)));
}

static void plain_attention(load *l)
{
    const ms_vllm_setup *s = l->s;
    const ms_model_config *c = s->config;
    if (l->scheme->asks_deep_gemm)
        deep_gemm(l);
    if (s->arch->has_sinks) {
        rotary(l);
        (void)weight(l, s->heads, 1);
    }
    linear(l, (s->heads + 2 * s->kv_heads) * c->head_dim, c->hidden_size,
           ms_vllm_has_bias(s->arch->qkv_bias, c));
    linear(l, c->hidden_size, s->heads * c->head_dim, ms_vllm_has_bias(s->arch->out_bias, c));
    head_norms(l, MS_VLLM_HEAD_NORMS_BEFORE_ROTARY);
    rotary(l);
    scales(l);
    if (s->kv_element == 1)
        deep_gemm(l);
    head_norms(l, MS_VLLM_HEAD_NORMS_LAST);
}

/* Latents are whole on each device, heads are shared. */
static void latent_attention(load *l)
{
    const ms_vllm_setup *s = l->s;
    const ms_model_config *c = s->config;
    uint64_t latent = c->latent_rank + c->head_dim, query = s->heads * ms_key_dim(c);
    if (l->scheme->asks_deep_gemm)
        deep_gemm(l);
    linear(l, c->query_rank + latent, c->hidden_size, false);
    if (c->query_rank > 0)
        (void)weight(l, c->query_rank, 1);
    linear(l, query, c->query_rank > 0 ? c->query_rank : c->hidden_size, false);
    (void)weight(l, c->latent_rank, 1);
    linear(l, s->heads * (c->plain_key_dim + ms_value_dim(c)), c->latent_rank, false);
    linear(l, c->hidden_size, s->heads * ms_value_dim(c), false);
    rotary(l);
    scales(l);
    deep_gemm(l);
}

/* ---- the rest of a layer ---- */

static void mlp(load *l, uint64_t width)
{
    const ms_model_config *c = l->s->config;
    linear(l, 2 * width, c->hidden_size, c->mlp_bias);
    linear(l, c->hidden_size, width, c->mlp_bias);
}

/* The router, whole on each device, an MLP for every token, and tensors of all experts. */
static void experts(load *l)
{
    const ms_vllm_setup *s = l->s;
    const ms_model_config *c = s->config;
    bool has_biases = s->arch->has_sinks;
    if (s->arch->has_linear_router && !s->scheme.has_plain_router)
        linear(l, c->num_experts, c->hidden_size, false);
    else
        (void)weight(l, c->num_experts, c->hidden_size);
    if (has_biases)
        (void)weight(l, c->num_experts, 1);
    if (s->arch->has_router_bias)
        (void)ms_vllm_take(l->tape, ms_vllm_size(c->num_experts, FLOAT, 1));
    if (s->arch->has_shared_gate)
        (void)weight(l, 1, c->hidden_size);
    if (s->shared > 0)
        mlp(l, s->shared);
    vllm_experts_build(&l->weights, c->num_experts, s->expert, c->hidden_size, has_biases);
}

static void layer(load *l, uint64_t number)
{
    const ms_vllm_setup *s = l->s;
    if (s->arch->is_latent)
        latent_attention(l);
    else
        plain_attention(l);
    if (ms_vllm_is_sparse(s, number))
        experts(l);
    else
        mlp(l, s->intermediate);
    for (uint32_t i = 0; i < s->arch->norms; i++)
        (void)weight(l, s->config->hidden_size, 1);
}

/* ---- the model ---- */

static void head(load *l)
{
    const ms_vllm_setup *s = l->s;
    const ms_model_config *c = s->config;
    (void)weight(l, c->hidden_size, 1);
    if (s->arch->has_normalizer)
        (void)ms_vllm_take(l->tape, ms_size_of(SCALAR));
    bool is_tied = c->tie_word_embeddings || s->arch->always_ties;
    if (is_tied && s->arch->tie == MS_VLLM_TIE_REUSES)
        return;
    ms_block table = weight(l, s->vocab, c->hidden_size);
    if (is_tied)
        ms_vllm_give(l->tape, table);
}

ms_status ms_vllm_load(const ms_vllm_setup *s, const ms_vllm_rank *rank, ms_vllm_tape *tape,
                       ms_error *err)
{
    load l = {.s = s,
              .tape = tape,
              .weights = {.s = s, .tape = tape},
              .scheme = ms_vllm_scheme_row_of(s->scheme.kind)};
    if (rank->has_embeddings)
        (void)weight(&l, s->vocab, s->config->hidden_size);
    for (uint64_t i = 0; i < rank->layers; i++)
        layer(&l, rank->first_layer + i);
    if (rank->has_head)
        head(&l);
    ms_status status = vllm_weights_finish(&l.weights, rank->layers, err);
    for (uint32_t i = 0; i < l.dropped.count; i++)
        ms_vllm_give(tape, l.dropped.items[i]);
    ms_vec_free(&l.dropped);
    /* a scalar that is made once; communication, and FlashInfer's sampler of the V1 runner, make it
     * before */
    if (s->tensor_parallel * s->stages == 1 &&
        (s->is_v2 || !s->job->settings->vllm.flashinfer_sampler))
        (void)ms_vllm_take(tape, ms_size_of(SCALAR));
    if (status != MS_OK)
        return status;
    return l.has_failed ? ms_infer_no_memory(err) : ms_vllm_tape_check(tape, err);
}
