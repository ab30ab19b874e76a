/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/infer/vllm/profile.h"

#include "input/config/model/model_config.h"
#include "serve/infer/vllm/layers.h"

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
    ms_vllm_pass pass;
    uint64_t seqs;
} profile;

/* A row for each sequence, as wide as the hidden state. */
static void hidden_rows(profile *p)
{
    (void)ms_vllm_rows(&p->pass, p->seqs, p->s->config->hidden_size);
}

static ms_block logits(profile *p, uint64_t bytes)
{
    return ms_vllm_take(p->tape, ms_vllm_size(p->seqs, p->s->config->vocab_size, bytes));
}

/* The head is not quantised. */
static void head(profile *p)
{
    (void)ms_vllm_product(&p->pass, p->seqs, p->s->config->vocab_size, false);
}

/* The V2 runner's own tensors of a step. */
static void v2_inputs(profile *p)
{
    for (int i = 0; i < 3; i++)
        (void)ms_vllm_take(p->tape, ms_vllm_size(p->seqs, INT32, 1));
    (void)ms_vllm_take(p->tape, ms_vllm_size(p->seqs + 1, INT32, 1));
}

/* Logits, a copy in fp32, and a kernel with the largest of each block of them. */
static void sample_v2(profile *p)
{
    uint64_t blocks = ms_vllm_ceil_div(p->s->config->vocab_size, GUMBEL_BLOCK);
    hidden_rows(p);
    head(p);
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
    hidden_rows(p);
    for (uint64_t i = 0; i < vectors; i++)
        (void)ms_vllm_take(p->tape, ms_vllm_size(p->seqs, INT32, 1));
    for (int i = 0; i < SCALARS; i++)
        (void)ms_vllm_take(p->tape, ms_size_of(FLOAT));
    hidden_rows(p);
    head(p);
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
    profile p = {.s = s,
                 .tape = tape,
                 .pass = {.s = s, .tape = tape},
                 .seqs = s->seqs < s->tokens ? s->seqs : s->tokens};
    uint64_t before = ms_vllm_allocated(tape);
    ms_status status = ms_allocator_empty_cache(tape->allocator);
    if (status != MS_OK)
        return ms_infer_no_memory(err);
    ms_vllm_peak_reset(tape);
    if (s->is_v2)
        v2_inputs(&p);
    (void)ms_vllm_layers(&p.pass, rank);
    if (rank->has_head && s->is_v2)
        sample_v2(&p);
    else if (rank->has_head)
        sample_v1(&p);
    *peak = tape->peak_bytes - before;
    return ms_vllm_tape_check(tape, err);
}
