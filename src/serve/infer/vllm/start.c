/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/infer/vllm/start.h"

#include "input/config/model/model_config.h"
#include "serve/infer/vllm/layers.h"
#include "serve/infer/vllm/load.h"
#include "serve/infer/vllm/tape.h"

/* ---- profile ---- */

/* The profile run: a step of max_num_batched_tokens without a cache, then sampling for
 * max_num_seqs. The larger of two moments is its peak: the MLP of a layer, or the sampler. */

enum {
    PROFILE_INT32 = 4,
    PROFILE_INT64 = 8,
    PROFILE_FLOAT = 4,
    PROFILE_MIB = 1 << 20,
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
        (void)ms_vllm_take(p->tape, ms_vllm_size(p->seqs, PROFILE_INT32, 1));
    (void)ms_vllm_take(p->tape, ms_vllm_size(p->seqs + 1, PROFILE_INT32, 1));
}

/* Logits, a copy in fp32, and a kernel with the largest of each block of them. */
static void sample_v2(profile *p)
{
    uint64_t blocks = ms_vllm_ceil_div(p->s->config->vocab_size, GUMBEL_BLOCK);
    hidden_rows(p);
    head(p);
    (void)ms_vllm_take(p->tape, ms_vllm_size(p->seqs, PROFILE_INT64, 1));
    (void)ms_vllm_take(p->tape, ms_vllm_size(p->seqs, PROFILE_INT32, 1));
    (void)logits(p, PROFILE_FLOAT);
    (void)ms_vllm_take(p->tape, ms_vllm_size(p->seqs, blocks, PROFILE_INT64));
    (void)ms_vllm_take(p->tape, ms_vllm_size(p->seqs, blocks, PROFILE_FLOAT));
    (void)ms_vllm_take(p->tape, ms_vllm_size(p->seqs, PROFILE_INT64, 1));
    (void)ms_vllm_take(p->tape, ms_vllm_size(p->seqs, PROFILE_INT64, 1));
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
        (void)ms_vllm_take(p->tape, ms_vllm_size(p->seqs, PROFILE_INT32, 1));
    for (int i = 0; i < SCALARS; i++)
        (void)ms_vllm_take(p->tape, ms_size_of(PROFILE_FLOAT));
    hidden_rows(p);
    head(p);
    (void)logits(p, PROFILE_FLOAT);
    (void)ms_vllm_take(p->tape, ms_vllm_size(p->seqs < multiprocessors ? p->seqs : multiprocessors,
                                             p->s->config->vocab_size, PROFILE_FLOAT));
    if (p->s->is_025 && p->s->job->settings->vllm.flashinfer_sampler)
        (void)ms_vllm_take(p->tape, ms_size_of(PROFILE_MIB));
    (void)logits(p, PROFILE_FLOAT);
    (void)logits(p, PROFILE_FLOAT);
}

/* *peak: bytes above what is allocated before. */
static ms_status vllm_profile(const ms_vllm_setup *s, const ms_vllm_rank *rank, ms_vllm_tape *tape,
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

/* ---- buffers ---- */

/* The runner's own tensors: for the inputs of a step, for requests, for sampling. vLLM's sum of
 * what its budget is spent on has none of them. */

enum { RANK_DATA_BYTES = 8 << 20 };

enum { BUFFERS_INT32 = 4, BUFFERS_INT64 = 8, BOOL = 1, BUFFERS_FLOAT = 4 };

/* A tensor of rows x columns, each of so many bytes. */
typedef struct buffer {
    uint64_t rows, columns, bytes;
} buffer;

static void take_all(ms_vllm_tape *tape, const buffer *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        (void)ms_vllm_take(tape, ms_vllm_size(list[i].rows, list[i].columns, list[i].bytes));
}

#define TAKE_ALL(tape, list) take_all(tape, list, sizeof(list) / sizeof((list)[0]))

/* ---- the V2 runner ---- */

enum {
    BIAS_TOKENS = 1024, /* allowed tokens, biased tokens and tokens of bad words of a request */
    STOP_TOKENS = 128,  /* stop tokens, bad words, tokens whose probability is wanted */
    MASK_TOKENS = 32    /* bits of an int32 */
};

static void v2_before(const ms_vllm_setup *s, ms_vllm_tape *tape)
{
    const buffer list[] = {
        {s->seqs, 1, BUFFERS_INT32},     /* total_len */
        {s->seqs, 1, BUFFERS_INT32},     /* num_computed_tokens */
        {s->seqs, 1, BUFFERS_INT64},     /* last_sampled_tokens */
        {s->seqs, 1, BUFFERS_INT32},     /* next_prefill_tokens */
        {s->tokens, 1, BUFFERS_INT32},   /* input_ids */
        {s->tokens, 1, BUFFERS_INT64},   /* positions */
        {s->tokens, 1, BOOL},            /* is_padding */
        {s->seqs + 1, 1, BUFFERS_INT32}, /* query_start_loc */
        {s->seqs, 1, BUFFERS_INT32},     /* seq_lens */
        {s->seqs, 1, BUFFERS_INT32},     /* dcp_local_seq_lens */
    };
    TAKE_ALL(tape, list);
}

static void v2_after(const ms_vllm_setup *s, ms_vllm_tape *tape)
{
    uint64_t vocab = s->config->vocab_size, mask = ms_vllm_ceil_div(vocab, MASK_TOKENS);
    const buffer list[] = {
        {s->seqs, mask, BUFFERS_INT32},            /* prompt_bin_mask */
        {s->seqs, vocab, BUFFERS_INT32},           /* output_bin_counts */
        {s->seqs, BIAS_TOKENS, BUFFERS_INT32},     /* allowed_token_ids */
        {s->seqs, BIAS_TOKENS, BUFFERS_INT32},     /* logit_bias_token_ids */
        {s->seqs, BIAS_TOKENS, BUFFERS_FLOAT},     /* logit_bias */
        {s->seqs, STOP_TOKENS, BUFFERS_INT32},     /* stop_token_ids */
        {s->seqs, BIAS_TOKENS, BUFFERS_INT32},     /* bad_word_token_ids */
        {s->seqs, STOP_TOKENS + 1, BUFFERS_INT32}, /* bad_word_offsets */
        {s->seqs, STOP_TOKENS, BUFFERS_INT32},     /* logprob token_ids */
        {s->seqs, 1, BUFFERS_INT32},               /* logits_indices */
        {s->seqs, mask, BUFFERS_INT32},            /* grammar_bitmask */
    };
    TAKE_ALL(tape, list);
}

/* ---- the V1 runner ---- */

enum { TABLE_STEP = 128 / MS_VLLM_BLOCK_TOKENS };

static void v1_before(const ms_vllm_setup *s, ms_vllm_tape *tape)
{
    uint64_t hidden = s->config->hidden_size;
    uint64_t longest = s->tokens > s->seqs + 1 ? s->tokens : s->seqs + 1;
    uint64_t blocks = ms_vllm_ceil_div(s->length, MS_VLLM_BLOCK_TOKENS);
    const buffer list[] = {
        {s->tokens, 1, BUFFERS_INT32},        /* input_ids */
        {s->tokens, 1, BUFFERS_INT64},        /* positions */
        {s->seqs + 1, 1, BUFFERS_INT32},      /* query_start_loc */
        {s->seqs, 1, BUFFERS_INT32},          /* seq_lens */
        {s->seqs, 1, BUFFERS_INT32},          /* num_computed_tokens */
        {s->seqs, 1, BUFFERS_INT32},          /* prev_num_draft_tokens */
        {s->tokens, 1, BUFFERS_INT64},        /* req_indices */
        {s->seqs, 1, BUFFERS_INT64},          /* prev_positions */
        {s->seqs, 1, BUFFERS_INT32},          /* num_scheduled_tokens */
        {s->seqs, 1, BUFFERS_INT32},          /* encoder_seq_lens */
        {s->tokens, hidden, MS_VLLM_ELEMENT}, /* inputs_embeds */
        {s->tokens, 1, BOOL},                 /* is_token_ids */
        {s->seqs, 1, BOOL},                   /* discard_request_mask */
        {s->seqs, 1, BUFFERS_INT32},          /* num_decode_draft_tokens */
        {s->seqs, 1, BUFFERS_INT32},          /* num_accepted_tokens */
        {longest, 1, BUFFERS_INT64},          /* query_pos */
        {s->seqs, ms_vllm_ceil_div(blocks, TABLE_STEP) * TABLE_STEP,
         BUFFERS_INT32},               /* block table */
        {s->tokens, 1, BUFFERS_INT64}, /* slot_mapping */
        {s->seqs, 1, BUFFERS_FLOAT},   /* temperature */
        {s->seqs, 1, BUFFERS_FLOAT},   /* top_p */
        {s->seqs, 1, BUFFERS_INT32},   /* top_k */
        {s->seqs, 1, BUFFERS_FLOAT},   /* frequency_penalties */
        {s->seqs, 1, BUFFERS_FLOAT},   /* presence_penalties */
        {s->seqs, 1, BUFFERS_FLOAT},   /* repetition_penalties */
        {s->seqs, 1, BUFFERS_FLOAT},   /* min_p */
        {1, 1, BUFFERS_FLOAT},         /* the logit of what is not allowed */
    };
    const buffer thinking[] = {{s->seqs, 1, BOOL}, {s->seqs, 1, BUFFERS_INT64}}; /* budgets */
    TAKE_ALL(tape, list);
    if (!s->is_025)
        TAKE_ALL(tape, thinking);
}

/* Those made before the model is loaded, and after. */
static void vllm_buffers_before(const ms_vllm_setup *s, ms_vllm_tape *tape)
{
    if (s->tensor_parallel > 1) /* of vLLM's own all-reduce: where the peers' buffers are */
        (void)ms_vllm_take(tape, ms_size_of(RANK_DATA_BYTES));
    if (s->is_v2)
        v2_before(s, tape);
    else
        v1_before(s, tape);
}

static void vllm_buffers_after(const ms_vllm_setup *s, const ms_vllm_rank *rank, ms_vllm_tape *tape)
{
    const buffer passed[] = {{s->tokens, s->config->hidden_size, MS_VLLM_ELEMENT},
                             {s->tokens, s->config->hidden_size, MS_VLLM_ELEMENT}};
    if (s->is_v2 && rank->first_layer > 0) /* hidden state and residual of the stage before */
        TAKE_ALL(tape, passed);
    if (s->is_v2 && rank->has_head)
        v2_after(s, tape);
}

/* ---- cache ---- */

/* Layers of a kind are cut into groups of the same size: that of the rarer kind, unless the other
 * is less than half as many again. */
static uint64_t group_layers(uint64_t full, uint64_t sliding)
{
    uint64_t fewer = full < sliding ? full : sliding, more = full < sliding ? sliding : full;
    if (fewer == 0)
        return more;
    return 2 * more < 3 * fewer ? more : fewer;
}

/* The last window, what a step adds, and one more as the window may begin within a block. */
static uint64_t window_blocks(const ms_vllm_setup *s)
{
    uint64_t held = s->config->sliding_window - 1 + s->tokens;
    return ms_vllm_ceil_div(held < s->length ? held : s->length, MS_VLLM_BLOCK_TOKENS) + 1;
}

ms_vllm_cache ms_vllm_cache_of(const ms_vllm_setup *s, const ms_vllm_rank *rank)
{
    uint64_t full = 0, sliding = 0;
    for (uint64_t i = rank->first_layer; i < rank->first_layer + rank->layers; i++) {
        if (ms_vllm_slides(s, i))
            sliding++;
        else
            full++;
    }
    uint64_t size = group_layers(full, sliding);
    uint64_t full_groups = ms_vllm_ceil_div(full, size);
    uint64_t sliding_groups = ms_vllm_ceil_div(sliding, size);
    uint64_t blocks = full_groups * ms_vllm_ceil_div(s->length, MS_VLLM_BLOCK_TOKENS);
    if (sliding_groups > 0)
        blocks += sliding_groups * window_blocks(s);
    const ms_model_config *c = s->config;
    uint64_t each =
        s->arch->is_latent ? c->latent_rank + c->head_dim : 2 * s->kv_heads * c->head_dim;
    return (ms_vllm_cache){.page_bytes = MS_VLLM_BLOCK_TOKENS * each * s->kv_element,
                           .group_layers = size,
                           .groups = full_groups + sliding_groups,
                           .request_blocks = blocks};
}

uint64_t ms_vllm_block_bytes(const ms_vllm_cache *cache)
{
    return cache->page_bytes * cache->group_layers;
}

uint64_t ms_vllm_blocks(const ms_vllm_cache *cache, uint64_t bytes)
{
    return bytes / cache->page_bytes / cache->group_layers;
}

uint64_t ms_vllm_cache_tokens(const ms_vllm_setup *setup, const ms_vllm_cache *cache,
                              uint64_t blocks)
{
    return blocks * setup->length / cache->request_blocks;
}

/* ---- start ---- */

/* STAGE_ROWS: what passes between stages was measured with the V2 runner alone; published stages of
 * the V1 runner take up to 2.8 tensors of the hidden state more. */
enum { MIB = 1 << 20, LOAD_SPLIT_MIB = 20, STAGE_ROWS = 4 };

/* ---- what is only known as a range: published readings of H100s, docs/infer.md ---- */

static ms_infer_bytes mib_range(uint64_t low, uint64_t expected, uint64_t high)
{
    return (ms_infer_bytes){low * MIB, expected * MIB, high * MIB};
}

/* Kernels that were loaded as they ran, and NCCL's buffers. */
static ms_infer_bytes non_torch(const ms_vllm_setup *s)
{
    const ms_infer_settings *set = s->job->settings;
    uint64_t given = set->vllm.non_torch;
    if (ms_infer_settings_has(set, "non-torch-memory"))
        return (ms_infer_bytes){given, given, given};
    if (s->tensor_parallel > 1)
        return mib_range(512, 2170, 2250);
    if (s->stages > 1)
        return mib_range(20, 72, 470);
    return mib_range(20, 250, 470);
}

static ms_infer_bytes graphs(const ms_vllm_setup *s)
{
    return s->is_eager ? mib_range(0, 0, 0) : mib_range(520, 860, 1900);
}

/* The V1 runner takes an estimate off since 0.21. */
static ms_infer_bytes graphs_estimate(const ms_vllm_setup *s)
{
    bool takes = s->is_025 && !s->is_v2 && !s->is_eager;
    return takes ? mib_range(266, 512, 860) : mib_range(0, 0, 0);
}

/* ---- the worker ---- */

static ms_status run(const ms_vllm_setup *s, const ms_vllm_rank *rank, ms_vllm_tape *tape,
                     ms_vllm_start *start, ms_error *err)
{
    vllm_buffers_before(s, tape);
    uint64_t before = ms_vllm_allocated(tape);
    ms_allocator_limit_split(tape->allocator, s->is_025 ? (uint64_t)LOAD_SPLIT_MIB * MIB : 0);
    ms_status status = ms_vllm_load(s, rank, tape, err);
    if (status != MS_OK)
        return status;
    start->weights_bytes = ms_vllm_allocated(tape) - before;
    vllm_buffers_after(s, rank, tape);
    ms_allocator_limit_split(tape->allocator, 0);
    start->buffers_bytes = ms_vllm_allocated(tape) - start->weights_bytes;
    uint64_t peak = 0;
    status = vllm_profile(s, rank, tape, &peak, err);
    start->peak = (ms_infer_bytes){peak, peak, peak};
    if (!rank->has_head && !s->is_v2)
        start->peak.high += STAGE_ROWS * s->tokens * s->config->hidden_size * MS_VLLM_ELEMENT;
    return status;
}

static uint64_t minus(uint64_t from, uint64_t bytes)
{
    return from > bytes ? from - bytes : 0;
}

static void divide(const ms_vllm_setup *s, ms_vllm_start *t)
{
    uint64_t rest = minus(minus(s->requested_bytes, t->weights_bytes), t->peak.expected);
    t->non_torch = non_torch(s);
    t->graphs = graphs(s);
    t->graphs_estimate = graphs_estimate(s);
    t->left.low =
        minus(rest, t->peak.high - t->peak.expected + t->non_torch.high + t->graphs_estimate.high);
    t->left.expected = minus(rest, t->non_torch.expected + t->graphs_estimate.expected);
    t->left.high = minus(rest, t->non_torch.low + t->graphs_estimate.low);
    t->blocks = ms_vllm_blocks(&t->cache, t->left.expected);
}

ms_status ms_vllm_start_of(const ms_vllm_setup *s, uint64_t stage, ms_vllm_start *start,
                           ms_error *err)
{
    ms_vllm_tape tape;
    ms_vllm_rank rank = ms_vllm_rank_of(s, stage);
    *start = (ms_vllm_start){.cache = ms_vllm_cache_of(s, &rank)};
    ms_status status = ms_vllm_tape_begin(&tape, err);
    if (status != MS_OK)
        return status;
    status = run(s, &rank, &tape, start, err);
    ms_vllm_tape_end(&tape);
    if (status == MS_OK)
        divide(s, start);
    return status;
}

uint64_t ms_vllm_uncounted_graphs(const ms_vllm_start *start)
{
    return minus(start->graphs.expected, start->graphs_estimate.expected);
}
