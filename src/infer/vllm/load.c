/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "infer/vllm/load.h"

enum {
    SCALAR = 4,
    FLOAT = 4,
    SCALES = 4,                 /* of a layer's attention: query, key, value, probabilities */
    DEEP_GEMM_BYTES = 32 << 20, /* its workspace, made when it is first asked for */
    RANGES = 3,                 /* and constants to compute them from, until weights are there */
};

/* A linear layer whose weights are quantised when all is built. */
typedef struct pending {
    uint64_t out, in;
} pending;

typedef struct load {
    const ms_vllm_setup *s;
    ms_vllm_tape *tape;
    uint64_t rotaries;
    bool has_deep_gemm, has_failed;
    ms_vec(pending) quantised;
    ms_vec(ms_block) dropped; /* when all weights are there */
} load;

static ms_block weight(load *l, uint64_t rows, uint64_t columns)
{
    return ms_vllm_take(l->tape, ms_vllm_size(rows, columns, MS_VLLM_ELEMENT));
}

static void drop_later(load *l, ms_block block)
{
    l->has_failed = !ms_vec_push(&l->dropped, block) || l->has_failed;
}

static void linear(load *l, uint64_t out, uint64_t in, bool has_bias)
{
    if (l->s->is_fp8)
        l->has_failed = !ms_vec_push(&l->quantised, ((pending){out, in})) || l->has_failed;
    else
        (void)weight(l, out, in);
    if (has_bias)
        (void)weight(l, out, 1);
}

/* In fp32 until it is there: angles, cosines, sines, both side by side. */
static void rotary(load *l)
{
    const ms_vllm_rotary *r = &l->s->rotary;
    ms_size half = ms_vllm_size(r->rows, r->width / 2, FLOAT);
    ms_block inverse = ms_vllm_take(l->tape, ms_vllm_size(r->width / 2, FLOAT, 1));
    ms_block positions = ms_vllm_take(l->tape, ms_vllm_size(r->rows, FLOAT, 1));
    ms_block angles = ms_vllm_take(l->tape, half);
    ms_block cosines = ms_vllm_take(l->tape, half);
    ms_block sines = ms_vllm_take(l->tape, half);
    ms_block both = ms_vllm_take(l->tape, ms_vllm_size(r->rows, r->width, FLOAT));
    ms_vllm_give(l->tape, inverse);
    ms_vllm_give(l->tape, positions);
    ms_vllm_give(l->tape, angles);
    ms_vllm_give(l->tape, cosines);
    ms_vllm_give(l->tape, sines);
    (void)ms_vllm_take(l->tape, ms_vllm_size(r->rows, r->width, MS_VLLM_ELEMENT));
    ms_vllm_give(l->tape, both);
    l->rotaries++;
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
        if (!l->s->is_fp8)
            drop_later(l, range);
    }
    for (int i = 0; i < SCALES && l->s->is_fp8; i++)
        drop_later(l, ms_vllm_take(l->tape, ms_size_of(SCALAR)));
}

static void attention(load *l)
{
    const ms_vllm_setup *s = l->s;
    const ms_model_config *c = s->config;
    uint64_t most_rotaries = s->arch->has_two_rotaries ? 2 : 1;
    if (s->is_fp8)
        deep_gemm(l);
    linear(l, (s->heads + 2 * s->kv_heads) * c->head_dim, c->hidden_size,
           ms_vllm_has_bias(s->arch->qkv_bias, c));
    linear(l, c->hidden_size, s->heads * c->head_dim, ms_vllm_has_bias(s->arch->out_bias, c));
    head_norms(l, MS_VLLM_HEAD_NORMS_BEFORE_ROTARY);
    if (l->rotaries < most_rotaries)
        rotary(l);
    scales(l);
    if (s->kv_element == 1)
        deep_gemm(l);
    head_norms(l, MS_VLLM_HEAD_NORMS_LAST);
}

static void mlp(load *l)
{
    const ms_model_config *c = l->s->config;
    linear(l, 2 * l->s->intermediate, c->hidden_size, c->mlp_bias);
    linear(l, c->hidden_size, l->s->intermediate, c->mlp_bias);
}

/* The router, whole on each device, and two tensors of all experts. */
static void experts(load *l)
{
    const ms_model_config *c = l->s->config;
    (void)weight(l, c->num_experts, c->hidden_size);
    (void)weight(l, c->num_experts * 2 * l->s->intermediate, c->hidden_size);
    (void)weight(l, c->num_experts * c->hidden_size, l->s->intermediate);
}

static void layer(load *l)
{
    const ms_vllm_setup *s = l->s;
    attention(l);
    if (s->arch->has_experts)
        experts(l);
    else
        mlp(l);
    for (uint32_t i = 0; i < s->arch->norms; i++)
        (void)weight(l, s->config->hidden_size, 1);
}

/* One after the other: as loaded, in fp8, and the scale of all. */
static void quantise(load *l)
{
    for (uint32_t i = 0; i < l->quantised.count; i++) {
        const pending *p = &l->quantised.items[i];
        ms_block loaded = weight(l, p->out, p->in);
        (void)ms_vllm_take(l->tape, ms_vllm_size(p->out, p->in, 1));
        (void)ms_vllm_take(l->tape, ms_size_of(SCALAR));
        ms_vllm_give(l->tape, loaded);
    }
}

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
    load l = {.s = s, .tape = tape};
    if (rank->has_embeddings)
        (void)weight(&l, s->vocab, s->config->hidden_size);
    for (uint64_t i = 0; i < rank->layers; i++)
        layer(&l);
    if (rank->has_head)
        head(&l);
    quantise(&l);
    for (uint32_t i = 0; i < l.dropped.count; i++)
        ms_vllm_give(tape, l.dropped.items[i]);
    ms_vec_free(&l.dropped);
    ms_vec_free(&l.quantised);
    /* a scalar that is made once; communication, and FlashInfer's sampler of the V1 runner, make it
     * before */
    if (s->tensor_parallel == 1 && (s->is_v2 || !s->job->settings->vllm.flashinfer_sampler))
        (void)ms_vllm_take(tape, ms_size_of(SCALAR));
    return l.has_failed ? ms_infer_no_memory(err) : ms_vllm_tape_check(tape, err);
}
