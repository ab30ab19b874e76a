/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "infer/vllm/profile.h"

enum {
    INT32 = 4,
    INT64 = 8,
    FLOAT = 4,
    MIB = 1 << 20,
    GUMBEL_BLOCK = 1024 /* logits of a block, whose largest is kept */
};

typedef struct profile {
    const ms_vllm_setup *s;
    ms_vllm_tape *tape;
    uint64_t seqs;
} profile;

static ms_block rows(profile *p, uint64_t count, uint64_t width)
{
    return ms_vllm_take(p->tape, ms_vllm_size(count, width, MS_VLLM_ELEMENT));
}

static ms_block logits(profile *p, uint64_t bytes)
{
    return ms_vllm_take(p->tape, ms_vllm_size(p->seqs, p->s->config->vocab_size, bytes));
}

/* PyTorch's for cuBLAS, and cublasLt's for products with a bias; both stay. */
static void workspaces(profile *p)
{
    const ms_model_config *c = p->s->config;
    bool is_hopper = p->s->job->device->compute_capability == 90;
    (void)ms_vllm_take(p->tape, ms_size_of(is_hopper ? 32 * MIB : 8 * MIB + 128 * 1024));
    if (ms_vllm_has_bias(p->s->arch->qkv_bias, c) || c->mlp_bias)
        (void)ms_vllm_take(p->tape, ms_size_of(MIB));
}

/* The V2 runner's own tensors of a step. */
static void v2_inputs(profile *p)
{
    for (int i = 0; i < 3; i++)
        (void)ms_vllm_take(p->tape, ms_vllm_size(p->seqs, INT32, 1));
    (void)ms_vllm_take(p->tape, ms_vllm_size(p->seqs + 1, INT32, 1));
}

/* Attention of a layer without its kernel, as there is no cache yet. Returns what it gives. */
static ms_block attention(profile *p)
{
    const ms_vllm_setup *s = p->s;
    uint64_t width = s->config->head_dim;
    bool copies = s->arch->head_norms != MS_VLLM_HEAD_NORMS_NONE;
    ms_block qkv = rows(p, s->tokens, (s->heads + 2 * s->kv_heads) * width);
    ms_block query = copies ? rows(p, s->tokens, s->heads * width) : 0;
    ms_block key = copies ? rows(p, s->tokens, s->kv_heads * width) : 0;
    ms_block mixed = rows(p, s->tokens, s->heads * width);
    ms_block out = rows(p, s->tokens, s->config->hidden_size);
    ms_vllm_give(p->tape, qkv);
    ms_vllm_give(p->tape, query);
    ms_vllm_give(p->tape, key);
    ms_vllm_give(p->tape, mixed);
    return out;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* A mixture of experts: each token's rows for its experts are in a workspace that stays, so the
 * attention of the next layer is the layers' peak. Returns the model's output. */
static ms_block mixtures(profile *p)
{
    const ms_vllm_setup *s = p->s;
    const ms_model_config *c = s->config;
    uint64_t hidden = c->hidden_size, each = s->tokens * c->experts_per_token;
    ms_block residual = rows(p, s->tokens, hidden);
    ms_block input = attention(p);
    ms_block scores = rows(p, s->tokens, c->num_experts);
    ms_block weights = ms_vllm_take(p->tape, ms_vllm_size(each, FLOAT, 1));
    ms_block ids = ms_vllm_take(p->tape, ms_vllm_size(each, INT32, 1));
    ms_block out = rows(p, s->tokens, hidden);
    (void)rows(p, each, larger(s->intermediate, hidden) + larger(2 * s->intermediate, hidden));
    ms_vllm_give(p->tape, ids);
    ms_vllm_give(p->tape, weights);
    ms_vllm_give(p->tape, scores);
    ms_vllm_give(p->tape, input);
    ms_vllm_give(p->tape, attention(p));
    ms_vllm_give(p->tape, residual);
    return out;
}

/* Its MLP is a layer's peak. What lives beside gate, up and their product is as wide as the hidden
 * state. Returns the model's output. */
static ms_block layers(profile *p)
{
    const ms_vllm_setup *s = p->s;
    uint64_t hidden = s->config->hidden_size;
    ms_block beside[8] = {0};
    for (uint32_t i = 0; i < s->arch->mlp_rows; i++)
        beside[i] = rows(p, s->tokens, hidden);
    ms_block gate_up = rows(p, s->tokens, 2 * s->intermediate);
    ms_block product = rows(p, s->tokens, s->intermediate);
    ms_vllm_give(p->tape, gate_up);
    ms_vllm_give(p->tape, product);
    for (uint32_t i = 1; i < s->arch->mlp_rows; i++)
        ms_vllm_give(p->tape, beside[i]);
    return beside[0];
}

/* Logits, a copy in fp32, and a kernel with the largest of each block of them. */
static void sample_v2(profile *p)
{
    uint64_t blocks = ms_vllm_ceil_div(p->s->config->vocab_size, GUMBEL_BLOCK);
    (void)rows(p, p->seqs, p->s->config->hidden_size);
    (void)logits(p, MS_VLLM_ELEMENT);
    (void)ms_vllm_take(p->tape, ms_vllm_size(p->seqs, INT64, 1));
    (void)ms_vllm_take(p->tape, ms_vllm_size(p->seqs, INT32, 1));
    (void)logits(p, FLOAT);
    (void)ms_vllm_take(p->tape, ms_vllm_size(p->seqs, blocks, INT64));
    (void)ms_vllm_take(p->tape, ms_vllm_size(p->seqs, blocks, FLOAT));
    (void)ms_vllm_take(p->tape, ms_vllm_size(p->seqs, INT64, 1));
    (void)ms_vllm_take(p->tape, ms_vllm_size(p->seqs, INT64, 1));
}

/* Logits, a copy in fp32, a row for each multiprocessor of the kernel that cuts to the likeliest,
 * probabilities, and noise. */
static void sample_v1(profile *p)
{
    enum { SCALARS = 4 };
    uint64_t multiprocessors = p->s->job->device->multiprocessors;
    uint64_t vectors = p->s->is_025 ? 12 : 11; /* of what requests ask for */
    (void)rows(p, p->seqs, p->s->config->hidden_size);
    for (uint64_t i = 0; i < vectors; i++)
        (void)ms_vllm_take(p->tape, ms_vllm_size(p->seqs, INT32, 1));
    for (int i = 0; i < SCALARS; i++)
        (void)ms_vllm_take(p->tape, ms_size_of(FLOAT));
    (void)rows(p, p->seqs, p->s->config->hidden_size);
    (void)logits(p, MS_VLLM_ELEMENT);
    (void)logits(p, FLOAT);
    (void)ms_vllm_take(p->tape, ms_vllm_size(p->seqs < multiprocessors ? p->seqs : multiprocessors,
                                             p->s->config->vocab_size, FLOAT));
    if (p->s->is_025 && p->s->job->settings->vllm.flashinfer_sampler)
        (void)ms_vllm_take(p->tape, ms_size_of(MIB));
    (void)logits(p, FLOAT);
    (void)logits(p, FLOAT);
}

ms_status ms_vllm_profile(const ms_vllm_setup *s, const ms_vllm_rank *rank, ms_vllm_tape *tape,
                          uint64_t *peak, ms_error *err)
{
    profile p = {.s = s, .tape = tape, .seqs = s->seqs < s->tokens ? s->seqs : s->tokens};
    uint64_t before = ms_vllm_allocated(tape);
    ms_status status = ms_allocator_empty_cache(tape->allocator);
    if (status != MS_OK)
        return ms_infer_no_memory(err);
    ms_vllm_peak_reset(tape);
    if (!s->is_fp8)
        workspaces(&p);
    if (s->is_v2)
        v2_inputs(&p);
    if (s->arch->has_experts)
        (void)mixtures(&p);
    else
        (void)layers(&p);
    if (s->is_fp8 && rank->has_head) /* the head is not quantised */
        workspaces(&p);
    if (rank->has_head && s->is_v2)
        sample_v2(&p);
    else if (rank->has_head)
        sample_v1(&p);
    *peak = tape->peak_bytes - before;
    return ms_vllm_tape_check(tape, err);
}
