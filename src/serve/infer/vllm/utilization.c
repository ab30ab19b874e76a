/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/infer/vllm/utilization.h"

enum { WHOLE = 100 };

/* What vLLM counts before the cache, at most. */
static uint64_t counted_bytes(const ms_vllm_start *t)
{
    return t->weights_bytes + t->peak.high + t->non_torch.high + t->graphs_estimate.high;
}

/* Of a budget that is filled: what is taken beside it. */
static uint64_t uncounted_bytes(const ms_vllm_start *t)
{
    return t->buffers_bytes + ms_vllm_uncounted_graphs(t);
}

uint64_t ms_vllm_other_utilization(const ms_vllm_setup *s, const ms_vllm_start *starts)
{
    uint64_t needed = 0, beside = 0, least, most;
    const uint64_t requests = s->job->settings->concurrency;
    if (s->total_bytes < WHOLE)
        return 0;
    for (uint64_t i = 0; i < s->stages; i++) {
        const ms_vllm_start *t = &starts[i];
        const uint64_t block = ms_vllm_block_bytes(&t->cache);
        uint64_t cache;
        if (__builtin_mul_overflow(t->cache.request_blocks, block, &cache) ||
            __builtin_mul_overflow(cache, requests, &cache) ||
            __builtin_add_overflow(cache, counted_bytes(t), &cache))
            return 0;
        needed = cache > needed ? cache : needed;
        beside = uncounted_bytes(t) > beside ? uncounted_bytes(t) : beside;
    }
    beside += s->job->device->context_expected_bytes;
    if (needed >= s->total_bytes || beside >= s->total_bytes)
        return 0;
    least = needed / (s->total_bytes / WHOLE) + 1;
    most = (s->total_bytes - beside) / (s->total_bytes / WHOLE + 1);
    if (least > most || most >= WHOLE)
        return 0;
    return s->requested_bytes > s->total_bytes - beside ? most : least;
}
