/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/infer/vllm/load.h"

#include "input/config/model/model_config.h"
#include "serve/infer/vllm/weights.h"

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
    return ms_vllm_weight(&l->weights, rows, columns);
}

static void drop_later(load *l, ms_block block)
{
    l->has_failed = !ms_vec_push(&l->dropped, block) || l->has_failed;
}

static void linear(load *l, uint64_t out, uint64_t in, bool has_bias)
{
    ms_vllm_linear_build(&l->weights, out, in);
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
    ms_vllm_experts_build(&l->weights, c->num_experts, s->expert, c->hidden_size, has_biases);
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
    ms_status status = ms_vllm_weights_finish(&l.weights, rank->layers, err);
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
