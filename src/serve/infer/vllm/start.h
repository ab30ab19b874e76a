/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * One worker's start: what it allocates until it knows what is left for the cache.
 */
#ifndef MS_SERVE_INFER_VLLM_START_H
#define MS_SERVE_INFER_VLLM_START_H

#include "serve/infer/vllm/cache.h"

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

#endif
