/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/infer/vllm/weights.h"

#include <inttypes.h>

#include "input/config/model/model_config.h"
#include "input/config/quantize/quantize.h"
#include "serve/infer/vllm/quantized/marlin_linear.h"

enum {
    SCALAR = 4,
    INT32 = 4,
    INT64 = 8,
    FLOAT = 4,
    HOPPER = 90,
    MXFP4_STEP = 64, /* groups of 32, two at a time */
    PACKED = 8       /* weights of 4 bits in an int32 */
};

ms_block ms_vllm_weight(ms_vllm_weights *w, uint64_t rows, uint64_t columns)
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
    l->scales = ms_vllm_weight(w, groups, l->out);
    ms_block zeros = packed(w, groups, l->out);
    (void)take(w, 2, INT64, 1); /* the shape */
    give(w, zeros);
}

void ms_vllm_linear_build(ms_vllm_weights *w, uint64_t out, uint64_t in)
{
    check_widths(w, out, in);
    ms_vllm_linear linear = {.out = out, .in = in};
    uint64_t blocks = ms_vllm_ceil_div(in, MS_FP8_BLOCK);
    switch (w->s->scheme.kind) {
    case MS_VLLM_PLAIN:
    case MS_VLLM_MXFP4:
        (void)ms_vllm_weight(w, out, in);
        return;
    case MS_VLLM_FP8_BLOCK:
        linear.weight = take(w, out, in, 1);
        linear.scales = take(w, ms_vllm_ceil_div(out, MS_FP8_BLOCK), blocks, FLOAT);
        break;
    case MS_VLLM_FP8_ROWS:
        (void)take(w, out, in, 1);
        (void)take(w, out, 1, FLOAT);
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
        linear.scales = ms_vllm_weight(w, groups_of(w, in), out);
        break;
    case MS_VLLM_FP8_MADE:
    case MS_VLLM_SCHEMES:
        break;
    }
    finish_later(w, linear);
}

void ms_vllm_experts_build(ms_vllm_weights *w, uint64_t count, uint64_t width, uint64_t hidden,
                           bool has_biases)
{
    if (w->s->scheme.kind == MS_VLLM_FP8_BLOCK) {
        uint64_t blocks = ms_vllm_ceil_div(hidden, MS_FP8_BLOCK);
        (void)take(w, count * 2 * width, hidden, 1);
        (void)take(w, count * hidden, width, 1);
        (void)take(w, count * ms_vllm_ceil_div(2 * width, MS_FP8_BLOCK), blocks, FLOAT);
        (void)take(w, count * blocks, ms_vllm_ceil_div(width, MS_FP8_BLOCK), FLOAT);
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
    (void)ms_vllm_weight(w, count * 2 * width, hidden);
    if (has_biases)
        (void)ms_vllm_weight(w, count * 2 * width, 1);
    (void)ms_vllm_weight(w, count * hidden, width);
    if (has_biases)
        (void)ms_vllm_weight(w, count * hidden, 1);
}

/* ---- fp8 that is made on loading ---- */

/* A copy in fp8 that its place in the tensor of all experts is filled from, and its scale. */
static void expert_copy(ms_vllm_weights *w, uint64_t rows, uint64_t columns)
{
    ms_block copy = take(w, rows, columns, 1), scale = take(w, 1, 1, SCALAR);
    give(w, copy);
    give(w, scale);
}

static void make_experts(ms_vllm_weights *w, const ms_vllm_linear *l)
{
    uint64_t count = l->experts, gate_up = 2 * l->out;
    ms_block first = ms_vllm_weight(w, count * gate_up, l->in);
    ms_block second = ms_vllm_weight(w, count * l->in, l->out);
    (void)take(w, count * gate_up, l->in, 1);
    (void)take(w, count * l->in, l->out, 1);
    (void)take(w, count, 1, SCALAR);
    (void)take(w, count, 1, SCALAR);
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
    ms_block loaded = ms_vllm_weight(w, l->out, l->in);
    now.weight = take(w, l->out, l->in, 1);
    now.scales = take(w, 1, 1, SCALAR);
    if (w->s->scheme.runs_marlin)
        ms_vllm_marlin_linear_finish_fp8(w->s, w->tape, &now);
    give(w, loaded);
}

/* ---- fp8 in blocks ---- */

/* DeepGEMM wants scales that are powers of two: weights are scaled, and quantised anew in place. */
static void requantise(ms_vllm_weights *w, const ms_vllm_linear *l)
{
    uint64_t blocks = ms_vllm_ceil_div(l->in, MS_FP8_BLOCK);
    ms_block rows = take(w, l->out, blocks, FLOAT), scales = take(w, l->out, l->in, FLOAT);
    ms_block cast = take(w, l->out, l->in, FLOAT), scaled = take(w, l->out, l->in, FLOAT);
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
    ms_block unit = ms_vllm_weight(w, rank, rank), input = take(w, rank, rank, 1);
    ms_block scales = take(w, rank, blocks, FLOAT);
    (void)ms_vllm_weight(w, s->heads * (c->plain_key_dim + ms_value_dim(c)), rank);
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
    ms_block negative = ms_vllm_weight(w, groups, l->out), cast = ms_vllm_weight(w, groups, l->out);
    (void)ms_vllm_weight(w, groups, l->out);
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
        (void)ms_vllm_weight(w, groups_of(w, l->in), l->out);
        give(w, l->scales);
        break;
    case MS_VLLM_FP8_ROWS:
    case MS_VLLM_PLAIN:
    case MS_VLLM_MXFP4:
    case MS_VLLM_SCHEMES:
        break;
    }
}

ms_status ms_vllm_weights_finish(ms_vllm_weights *w, uint64_t layers, ms_error *err)
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
                       " features is not known in %s",
                       w->odd_in, w->odd_out, ms_vllm_scheme_row_of(w->s->scheme.kind)->name);
    return w->has_failed ? ms_infer_no_memory(err) : MS_OK;
}
