/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "infer/vllm/load.h"

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
    uint64_t rotaries;
    bool has_deep_gemm;
    ms_vec(ms_block) dropped; /* when all weights are there */
} load;

static ms_block weight(load *l, uint64_t rows, uint64_t columns)
{
    return ms_vllm_take(l->tape, ms_vllm_size(rows, columns, MS_VLLM_ELEMENT));
}

static void linear(load *l, uint64_t out, uint64_t in, bool has_bias)
{
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

/* 0.25.1 asks for it where queries are quantised, on Hopper and on Blackwell of data centres. */
static bool has_deep_gemm(const ms_vllm_setup *s)
{
    uint32_t capability = s->job->device->compute_capability;
    return s->is_025 && (capability == 90 || capability == 100);
}

static bool attention(load *l)
{
    const ms_vllm_setup *s = l->s;
    const ms_model_config *c = s->config;
    uint64_t most_rotaries = s->arch->has_two_rotaries ? 2 : 1;
    linear(l, (s->heads + 2 * s->kv_heads) * c->head_dim, c->hidden_size,
           ms_vllm_has_bias(s->arch->qkv_bias, c));
    linear(l, c->hidden_size, s->heads * c->head_dim, ms_vllm_has_bias(s->arch->out_bias, c));
    head_norms(l, MS_VLLM_HEAD_NORMS_BEFORE_ROTARY);
    if (l->rotaries < most_rotaries)
        rotary(l);
    for (int i = 0; i < SCALES; i++)
        (void)ms_vllm_take(l->tape, ms_size_of(SCALAR));
    for (int i = 0; i < RANGES; i++)
        if (!ms_vec_push(&l->dropped, ms_vllm_take(l->tape, ms_size_of(SCALAR))))
            return false;
    if (s->kv_element == 1 && !l->has_deep_gemm && has_deep_gemm(s)) {
        (void)ms_vllm_take(l->tape, ms_size_of(DEEP_GEMM_BYTES));
        l->has_deep_gemm = true;
    }
    head_norms(l, MS_VLLM_HEAD_NORMS_LAST);
    return true;
}

static bool layer(load *l)
{
    const ms_vllm_setup *s = l->s;
    const ms_model_config *c = s->config;
    if (!attention(l))
        return false;
    linear(l, 2 * s->intermediate, c->hidden_size, c->mlp_bias);
    linear(l, c->hidden_size, s->intermediate, c->mlp_bias);
    for (uint32_t i = 0; i < s->arch->norms; i++)
        (void)weight(l, c->hidden_size, 1);
    return true;
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
    bool ok = true;
    if (rank->has_embeddings)
        (void)weight(&l, s->vocab, s->config->hidden_size);
    for (uint64_t i = 0; i < rank->layers && ok; i++)
        ok = layer(&l);
    if (rank->has_head)
        head(&l);
    for (uint32_t i = 0; i < l.dropped.count; i++)
        ms_vllm_give(tape, l.dropped.items[i]);
    ms_vec_free(&l.dropped);
    /* a scalar that is made once; communication, and FlashInfer's sampler of the V1 runner, make it
     * before */
    if (s->tensor_parallel == 1 && (s->is_v2 || !s->job->settings->vllm.flashinfer_sampler))
        (void)ms_vllm_take(tape, ms_size_of(SCALAR));
    return ok ? ms_vllm_tape_check(tape, err) : ms_infer_no_memory(err);
}
