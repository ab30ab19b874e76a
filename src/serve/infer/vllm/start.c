/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/infer/vllm/start.h"

#include "input/config/model/model_config.h"
#include "serve/infer/vllm/buffers.h"
#include "serve/infer/vllm/load.h"
#include "serve/infer/vllm/profile.h"

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
    ms_vllm_buffers_before(s, tape);
    uint64_t before = ms_vllm_allocated(tape);
    ms_allocator_limit_split(tape->allocator, s->is_025 ? (uint64_t)LOAD_SPLIT_MIB * MIB : 0);
    ms_status status = ms_vllm_load(s, rank, tape, err);
    if (status != MS_OK)
        return status;
    start->weights_bytes = ms_vllm_allocated(tape) - before;
    ms_vllm_buffers_after(s, rank, tape);
    ms_allocator_limit_split(tape->allocator, 0);
    start->buffers_bytes = ms_vllm_allocated(tape) - start->weights_bytes;
    uint64_t peak = 0;
    status = ms_vllm_profile(s, rank, tape, &peak, err);
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
