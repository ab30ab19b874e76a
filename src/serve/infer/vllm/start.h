/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * One worker's start: what it allocates until it knows what is left for the cache.
 */
#ifndef MS_SERVE_INFER_VLLM_START_H
#define MS_SERVE_INFER_VLLM_START_H

#include "serve/infer/vllm/setup.h"

typedef struct ms_vllm_cache {
    uint64_t page_bytes;   /* of a block in one layer */
    uint64_t group_layers; /* layers that share a pool's block: pages of a block */
    uint64_t groups;
    uint64_t request_blocks; /* that a request of the full length may hold */
} ms_vllm_cache;

typedef struct ms_vllm_start {
    uint64_t weights_bytes;
    uint64_t buffers_bytes; /* the runner's own, which vLLM's sum does not have */
    ms_infer_bytes peak;    /* of the profile run, above both */
    ms_infer_bytes non_torch, graphs_estimate, graphs;
    ms_infer_bytes left; /* for the cache; low: with the most of the others */
    ms_vllm_cache cache;
    uint64_t blocks; /* of the expected */
} ms_vllm_start;

ms_status ms_vllm_start_of(const ms_vllm_setup *setup, uint64_t stage, ms_vllm_start *start,
                           ms_error *err);

/* Of CUDA graphs, what vLLM does not take off before it makes the cache. */
uint64_t ms_vllm_uncounted_graphs(const ms_vllm_start *start);

/* ---- cache ---- */

/* The cache of keys and values: groups of layers that share blocks, the page of a block in a layer,
 * and what memory that is left gives. */

/* Of a stage. */
ms_vllm_cache ms_vllm_cache_of(const ms_vllm_setup *setup, const ms_vllm_rank *rank);

/* Of a block, in all layers that share it. */
uint64_t ms_vllm_block_bytes(const ms_vllm_cache *cache);
/* Blocks in so many bytes. */
uint64_t ms_vllm_blocks(const ms_vllm_cache *cache, uint64_t bytes);
/* What vLLM prints as the size of the cache: requests at once x the full length. */
uint64_t ms_vllm_cache_tokens(const ms_vllm_setup *setup, const ms_vllm_cache *cache,
                              uint64_t blocks);

#endif
