/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/infer/vllm/cache.h"

#include "input/config/model/model_config.h"

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
