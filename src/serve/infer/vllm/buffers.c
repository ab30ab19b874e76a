/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/infer/vllm/buffers.h"

#include "input/config/model/model_config.h"

enum { RANK_DATA_BYTES = 8 << 20 };
enum { INT32 = 4, INT64 = 8, BOOL = 1, FLOAT = 4 };

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
        {s->seqs, 1, INT32},     /* total_len */
        {s->seqs, 1, INT32},     /* num_computed_tokens */
        {s->seqs, 1, INT64},     /* last_sampled_tokens */
        {s->seqs, 1, INT32},     /* next_prefill_tokens */
        {s->tokens, 1, INT32},   /* input_ids */
        {s->tokens, 1, INT64},   /* positions */
        {s->tokens, 1, BOOL},    /* is_padding */
        {s->seqs + 1, 1, INT32}, /* query_start_loc */
        {s->seqs, 1, INT32},     /* seq_lens */
        {s->seqs, 1, INT32},     /* dcp_local_seq_lens */
    };
    TAKE_ALL(tape, list);
}

static void v2_after(const ms_vllm_setup *s, ms_vllm_tape *tape)
{
    uint64_t vocab = s->config->vocab_size, mask = ms_vllm_ceil_div(vocab, MASK_TOKENS);
    const buffer list[] = {
        {s->seqs, mask, INT32},            /* prompt_bin_mask */
        {s->seqs, vocab, INT32},           /* output_bin_counts */
        {s->seqs, BIAS_TOKENS, INT32},     /* allowed_token_ids */
        {s->seqs, BIAS_TOKENS, INT32},     /* logit_bias_token_ids */
        {s->seqs, BIAS_TOKENS, FLOAT},     /* logit_bias */
        {s->seqs, STOP_TOKENS, INT32},     /* stop_token_ids */
        {s->seqs, BIAS_TOKENS, INT32},     /* bad_word_token_ids */
        {s->seqs, STOP_TOKENS + 1, INT32}, /* bad_word_offsets */
        {s->seqs, STOP_TOKENS, INT32},     /* logprob token_ids */
        {s->seqs, 1, INT32},               /* logits_indices */
        {s->seqs, mask, INT32},            /* grammar_bitmask */
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
        {s->tokens, 1, INT32},                /* input_ids */
        {s->tokens, 1, INT64},                /* positions */
        {s->seqs + 1, 1, INT32},              /* query_start_loc */
        {s->seqs, 1, INT32},                  /* seq_lens */
        {s->seqs, 1, INT32},                  /* num_computed_tokens */
        {s->seqs, 1, INT32},                  /* prev_num_draft_tokens */
        {s->tokens, 1, INT64},                /* req_indices */
        {s->seqs, 1, INT64},                  /* prev_positions */
        {s->seqs, 1, INT32},                  /* num_scheduled_tokens */
        {s->seqs, 1, INT32},                  /* encoder_seq_lens */
        {s->tokens, hidden, MS_VLLM_ELEMENT}, /* inputs_embeds */
        {s->tokens, 1, BOOL},                 /* is_token_ids */
        {s->seqs, 1, BOOL},                   /* discard_request_mask */
        {s->seqs, 1, INT32},                  /* num_decode_draft_tokens */
        {s->seqs, 1, INT32},                  /* num_accepted_tokens */
        {longest, 1, INT64},                  /* query_pos */
        {s->seqs, ms_vllm_ceil_div(blocks, TABLE_STEP) * TABLE_STEP, INT32}, /* block table */
        {s->tokens, 1, INT64},                                               /* slot_mapping */
        {s->seqs, 1, FLOAT},                                                 /* temperature */
        {s->seqs, 1, FLOAT},                                                 /* top_p */
        {s->seqs, 1, INT32},                                                 /* top_k */
        {s->seqs, 1, FLOAT}, /* frequency_penalties */
        {s->seqs, 1, FLOAT}, /* presence_penalties */
        {s->seqs, 1, FLOAT}, /* repetition_penalties */
        {s->seqs, 1, FLOAT}, /* min_p */
        {1, 1, FLOAT},       /* the logit of what is not allowed */
    };
    const buffer thinking[] = {{s->seqs, 1, BOOL}, {s->seqs, 1, INT64}}; /* budgets */
    TAKE_ALL(tape, list);
    if (!s->is_025)
        TAKE_ALL(tape, thinking);
}

void ms_vllm_buffers_before(const ms_vllm_setup *s, ms_vllm_tape *tape)
{
    if (s->tensor_parallel > 1) /* of vLLM's own all-reduce: where the peers' buffers are */
        (void)ms_vllm_take(tape, ms_size_of(RANK_DATA_BYTES));
    if (s->is_v2)
        v2_before(s, tape);
    else
        v1_before(s, tape);
}

void ms_vllm_buffers_after(const ms_vllm_setup *s, const ms_vllm_rank *rank, ms_vllm_tape *tape)
{
    const buffer passed[] = {{s->tokens, s->config->hidden_size, MS_VLLM_ELEMENT},
                             {s->tokens, s->config->hidden_size, MS_VLLM_ELEMENT}};
    if (s->is_v2 && rank->first_layer > 0) /* hidden state and residual of the stage before */
        TAKE_ALL(tape, passed);
    if (s->is_v2 && rank->has_head)
        v2_after(s, tape);
}
