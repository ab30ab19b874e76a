/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/infer/vllm/layers.h"

#include "input/config/model/model_config.h"
#include "serve/infer/vllm/quantized/marlin.h"
#include "serve/infer/vllm/quantized/marlin_linear.h"
#include "serve/infer/vllm/quantized/mxfp4.h"

enum {
    INT32 = 4,
    INT64 = 8,
    FLOAT = 4,
    MIB = 1 << 20,
    HOPPER = 90,
    PLAIN_ROWS = 3 /* beside an MLP in every model: residual, the layer's input, the MLP's */
};

/* ---- products ---- */

ms_block ms_vllm_rows(ms_vllm_pass *p, uint64_t count, uint64_t width)
{
    return ms_vllm_take(p->tape, ms_vllm_size(count, width, MS_VLLM_ELEMENT));
}

ms_block ms_vllm_product(ms_vllm_pass *p, uint64_t count, uint64_t width, bool has_bias)
{
    bool is_hopper = p->s->job->device->compute_capability == HOPPER;
    ms_block out = ms_vllm_rows(p, count, width);
    if (!p->has_workspace)
        (void)ms_vllm_take(p->tape, ms_size_of(is_hopper ? 32 * MIB : 8 * MIB + 128 * 1024));
    p->has_workspace = true;
    if (has_bias && !p->has_light)
        (void)ms_vllm_take(p->tape, ms_size_of(MIB));
    p->has_light = p->has_light || has_bias;
    return out;
}

/* A linear layer whose weights may be quantised, and whose input may be. */
static ms_block linear(ms_vllm_pass *p, uint64_t in, uint64_t out, bool has_bias)
{
    const ms_vllm_scheme_row *row = ms_vllm_scheme_row_of(p->s->scheme.kind);
    uint64_t tokens = p->s->tokens;
    uint64_t scales_each = row->input_block > 0 ? ms_vllm_ceil_div(in, row->input_block) : 1;
    if (ms_vllm_scheme_is_plain(&p->s->scheme))
        return ms_vllm_product(p, tokens, out, has_bias);
    if (p->s->scheme.runs_marlin) {
        ms_block sum = ms_vllm_rows(p, tokens, out);
        ms_vllm_give(p->tape, ms_vllm_take(p->tape, ms_vllm_marlin_linear_sums(p->s, tokens)));
        return sum;
    }
    if (!row->quantises_input)
        return ms_vllm_rows(p, tokens, out);
    bool has_unused = row->has_input_scale && p->s->job->device->compute_capability >= HOPPER;
    ms_block unused = has_unused ? ms_vllm_rows(p, 1, 1) : 0;
    ms_block input = ms_vllm_take(p->tape, ms_vllm_size(tokens, in, 1));
    ms_block scales = ms_vllm_take(p->tape, ms_vllm_size(tokens, scales_each, FLOAT));
    ms_block result = ms_vllm_rows(p, tokens, out);
    ms_vllm_give(p->tape, input);
    ms_vllm_give(p->tape, scales);
    ms_vllm_give(p->tape, unused);
    return result;
}

/* What devices reduce together is a new tensor. */
static ms_block reduced(ms_vllm_pass *p, ms_block part)
{
    if (p->s->tensor_parallel == 1)
        return part;
    ms_block sum = ms_vllm_rows(p, p->s->tokens, p->s->config->hidden_size);
    ms_vllm_give(p->tape, part);
    return sum;
}

/* ---- attention: without its kernel, as there is no cache yet ---- */

/* The first step has the table in the model's type. */
static void narrow_table(ms_vllm_pass *p)
{
    const ms_vllm_rotary *r = &p->s->rotary;
    if (p->tape->wide_table == 0)
        return;
    (void)ms_vllm_rows(p, r->rows, r->width);
    ms_vllm_give(p->tape, p->tape->wide_table);
    p->tape->wide_table = 0;
}

static ms_block plain_attention(ms_vllm_pass *p)
{
    const ms_vllm_setup *s = p->s;
    const ms_model_config *c = s->config;
    uint64_t width = c->head_dim;
    bool copies = s->arch->head_norms != MS_VLLM_HEAD_NORMS_NONE;
    ms_block qkv = linear(p, c->hidden_size, (s->heads + 2 * s->kv_heads) * width,
                          ms_vllm_has_bias(s->arch->qkv_bias, c));
    ms_block query = copies ? ms_vllm_rows(p, s->tokens, s->heads * width) : 0;
    ms_block key = copies ? ms_vllm_rows(p, s->tokens, s->kv_heads * width) : 0;
    narrow_table(p);
    ms_block mixed = ms_vllm_rows(p, s->tokens, s->heads * width);
    ms_block out =
        linear(p, s->heads * width, c->hidden_size, ms_vllm_has_bias(s->arch->out_bias, c));
    out = reduced(p, out);
    ms_vllm_give(p->tape, qkv);
    ms_vllm_give(p->tape, query);
    ms_vllm_give(p->tape, key);
    ms_vllm_give(p->tape, mixed);
    return out;
}

/* Tokens of the caches of earlier chunks whose keys and values are made at a time. */
static uint64_t chunk_tokens(const ms_vllm_setup *s)
{
    enum { REQUESTS = 8, PAGES = 4, MOST = 64 * 1024 };
    uint64_t pages = s->seqs * MS_VLLM_BLOCK_TOKENS, chunk = REQUESTS * s->length;
    chunk = chunk > PAGES * pages ? chunk : PAGES * pages;
    chunk = chunk < MOST ? chunk : MOST;
    return chunk > pages ? chunk : pages;
}

static ms_block latent_attention(ms_vllm_pass *p)
{
    const ms_vllm_setup *s = p->s;
    const ms_model_config *c = s->config;
    uint64_t hidden = c->hidden_size, latent = c->latent_rank + c->head_dim;
    uint64_t values = ms_value_dim(c), query_width = s->heads * ms_key_dim(c);
    ms_block down = linear(p, hidden, c->query_rank + latent, false);
    ms_block rank = c->query_rank > 0 ? ms_vllm_rows(p, s->tokens, c->query_rank) : 0;
    ms_block query = linear(p, c->query_rank > 0 ? c->query_rank : hidden, query_width, false);
    ms_block normed = ms_vllm_rows(p, s->tokens, c->latent_rank);
    ms_block mixed = ms_vllm_rows(p, s->tokens, s->heads * values);
    ms_vllm_give(p->tape, ms_vllm_rows(p, chunk_tokens(s), s->heads * (c->plain_key_dim + values)));
    ms_block out = reduced(p, linear(p, s->heads * values, hidden, false));
    ms_vllm_give(p->tape, query);
    ms_vllm_give(p->tape, down);
    ms_vllm_give(p->tape, rank);
    ms_vllm_give(p->tape, normed);
    ms_vllm_give(p->tape, mixed);
    return out;
}

/* ---- MLPs ---- */

/* Gate and up live until the end in some models, which their row counts as a row more. */
static ms_block mlp(ms_vllm_pass *p, uint64_t width, bool reduces)
{
    const ms_vllm_setup *s = p->s;
    const ms_model_config *c = s->config;
    bool keeps = s->arch->mlp_rows > PLAIN_ROWS;
    ms_block beside[4] = {0};
    for (uint32_t i = PLAIN_ROWS + 1; i < s->arch->mlp_rows; i++)
        beside[i - PLAIN_ROWS - 1] = ms_vllm_rows(p, s->tokens, c->hidden_size);
    ms_block gate_up = linear(p, c->hidden_size, 2 * width, c->mlp_bias);
    ms_block product = ms_vllm_rows(p, s->tokens, width);
    if (!keeps)
        ms_vllm_give(p->tape, gate_up);
    ms_block out = linear(p, width, c->hidden_size, c->mlp_bias);
    if (reduces)
        out = reduced(p, out);
    ms_vllm_give(p->tape, product);
    if (keeps)
        ms_vllm_give(p->tape, gate_up);
    for (uint32_t i = PLAIN_ROWS + 1; i < s->arch->mlp_rows; i++)
        ms_vllm_give(p->tape, beside[i - PLAIN_ROWS - 1]);
    return out;
}

/* ---- mixtures of experts ---- */

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Two intermediate results of each token's experts; both rows are as wide as the hidden state at
 * least. */
static void grow_workspace(ms_vllm_pass *p, uint64_t each)
{
    uint64_t hidden = p->s->config->hidden_size, width = p->s->expert;
    uint64_t row = larger(width, hidden) + larger(2 * width, hidden);
    ms_size bytes = ms_vllm_size(each, row, MS_VLLM_ELEMENT);
    if (!bytes.overflow && bytes.bytes <= p->experts_bytes)
        return;
    ms_vllm_give(p->tape, p->experts);
    p->experts = ms_vllm_take(p->tape, bytes);
    p->experts_bytes = bytes.bytes;
}

/* An input of experts in fp8, and its scales. */
static int quantised(ms_vllm_pass *p, uint64_t count, uint64_t width, ms_block taken[2])
{
    const ms_vllm_scheme_row *row = ms_vllm_scheme_row_of(p->s->scheme.kind);
    if (!row->quantises_input)
        return 0;
    taken[0] = ms_vllm_take(p->tape, ms_vllm_size(count, width, 1));
    taken[1] = ms_vllm_take(
        p->tape, row->input_block > 0
                     ? ms_vllm_size(count, ms_vllm_ceil_div(width, row->input_block), FLOAT)
                     : ms_size_of(FLOAT));
    return 2;
}

/* Rows are sorted by expert, each expert's padded to whole blocks. */
static void run_experts(ms_vllm_pass *p)
{
    const ms_vllm_setup *s = p->s;
    const ms_model_config *c = s->config;
    uint64_t each = s->tokens * c->experts_per_token;
    uint64_t block = ms_vllm_scheme_row_of(s->scheme.kind)->expert_rows;
    block = block > 0 ? block : ms_vllm_marlin_rows(s);
    uint64_t sorted = each + c->num_experts * (block - 1);
    ms_block taken[8] = {0};
    int count = quantised(p, s->tokens, c->hidden_size, taken);
    grow_workspace(p, each);
    taken[count++] = ms_vllm_take(p->tape, ms_vllm_size(sorted, INT32, 1));
    taken[count++] = ms_vllm_take(p->tape, ms_vllm_size(ms_vllm_ceil_div(sorted, block), INT32, 1));
    taken[count++] = ms_vllm_take(p->tape, ms_size_of(INT32));
    ms_vllm_give(p->tape, ms_vllm_take(p->tape, ms_vllm_size(c->num_experts + 1, INT32, 1)));
    count += quantised(p, each, s->expert, taken + count);
    if (ms_vllm_scheme_row_of(s->scheme.kind)->expert_rows == 0) {
        ms_vllm_give(p->tape, ms_vllm_take(p->tape, ms_vllm_marlin_sums(s, 2 * s->expert, sorted)));
        ms_vllm_give(p->tape,
                     ms_vllm_take(p->tape, ms_vllm_marlin_sums(s, c->hidden_size, sorted)));
    }
    while (count > 0)
        ms_vllm_give(p->tape, taken[--count]);
}

/* The expert that every token has, times what its gate says. */
static ms_block shared_expert(ms_vllm_pass *p)
{
    const ms_vllm_setup *s = p->s;
    if (s->shared == 0)
        return 0;
    ms_block out = mlp(p, s->shared, false);
    if (!s->arch->has_shared_gate)
        return out;
    ms_block gate = ms_vllm_product(p, s->tokens, 1, false), share = ms_vllm_rows(p, s->tokens, 1);
    ms_vllm_give(p->tape, gate);
    ms_block scaled = ms_vllm_rows(p, s->tokens, s->config->hidden_size);
    ms_vllm_give(p->tape, share);
    ms_vllm_give(p->tape, out);
    return scaled;
}

static ms_block experts(ms_vllm_pass *p)
{
    const ms_vllm_setup *s = p->s;
    const ms_model_config *c = s->config;
    uint64_t each = s->tokens * c->experts_per_token;
    bool is_linear = s->arch->has_linear_router && !s->scheme.has_plain_router;
    ms_block scores = is_linear ? linear(p, c->hidden_size, c->num_experts, false)
                                : ms_vllm_product(p, s->tokens, c->num_experts, s->arch->has_sinks);
    if (s->scheme.kind == MS_VLLM_MXFP4) {
        ms_block result = ms_vllm_mxfp4_run(s, p->tape);
        ms_vllm_give(p->tape, scores);
        return result;
    }
    ms_block shared = shared_expert(p);
    ms_block weights = ms_vllm_take(p->tape, ms_vllm_size(each, FLOAT, 1));
    ms_block ids = ms_vllm_take(p->tape, ms_vllm_size(each, INT32, 1));
    ms_vllm_give(p->tape, ms_vllm_take(p->tape, ms_vllm_size(each, INT32, 1)));
    ms_block out = ms_vllm_rows(p, s->tokens, c->hidden_size);
    run_experts(p);
    ms_vllm_give(p->tape, ids);
    ms_vllm_give(p->tape, weights);
    ms_vllm_give(p->tape, scores);
    if (s->shared == 0)
        return out;
    ms_block sum = ms_vllm_rows(p, s->tokens, c->hidden_size);
    ms_vllm_give(p->tape, shared);
    ms_vllm_give(p->tape, out);
    return sum;
}

/* ---- layers ---- */

static ms_block embed(ms_vllm_pass *p)
{
    ms_block ids = ms_vllm_take(p->tape, ms_vllm_size(p->s->tokens, INT64, 1));
    ms_block out = ms_vllm_rows(p, p->s->tokens, p->s->config->hidden_size);
    ms_vllm_give(p->tape, ids);
    return out;
}

/* What the stage before passes on: the V2 runner has made it already, the V1 runner makes it in its
 * first step. */
static ms_block passed(ms_vllm_pass *p)
{
    return p->s->is_v2 ? 0 : ms_vllm_rows(p, p->s->tokens, p->s->config->hidden_size);
}

/* The model holds a layer's input until the layer is done, but for that of the first, which is the
 * residual. */
ms_block ms_vllm_layers(ms_vllm_pass *p, const ms_vllm_rank *rank)
{
    const ms_vllm_setup *s = p->s;
    bool is_first = rank->first_layer == 0;
    ms_block residual = is_first ? embed(p) : passed(p);
    ms_block hidden = is_first ? ms_vllm_rows(p, s->tokens, s->config->hidden_size) : passed(p);
    for (uint64_t i = 0; i < rank->layers; i++) {
        ms_block input = s->arch->is_latent ? latent_attention(p) : plain_attention(p);
        if (i == 0 && is_first)
            ms_vllm_give(p->tape, hidden);
        bool is_sparse = ms_vllm_is_sparse(s, rank->first_layer + i);
        ms_block out = is_sparse ? reduced(p, experts(p)) : mlp(p, s->intermediate, true);
        ms_vllm_give(p->tape, input);
        if (i > 0) /* what a stage was passed stays */
            ms_vllm_give(p->tape, hidden);
        hidden = out;
    }
    if (is_first)
        ms_vllm_give(p->tape, residual);
    return hidden;
}
