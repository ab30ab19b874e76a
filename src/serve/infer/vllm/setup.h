/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A start of vLLM, resolved: the model as its classes see it, its settings with the defaults of
 * device and version, and the layers of each stage.
 */
#ifndef MS_SERVE_INFER_VLLM_SETUP_H
#define MS_SERVE_INFER_VLLM_SETUP_H

#include "serve/infer/kit/engine.h"
#include "serve/infer/vllm/arch.h"
#include "serve/infer/vllm/quantized/scheme.h"

enum { MS_VLLM_MAX_STAGES = 16, MS_VLLM_BLOCK_TOKENS = 16, MS_VLLM_ELEMENT = 2 };

/* A table of sines and cosines. */
typedef struct ms_vllm_rotary {
    uint64_t rows, width;
    bool is_yarn; /* sines and cosines are scaled */
} ms_vllm_rotary;

typedef struct ms_vllm_setup {
    const ms_infer_job *job;
    const ms_model_config *config;
    const ms_vllm_arch *arch;
    ms_vllm_scheme scheme;
    ms_vllm_rotary rotary;
    bool is_025, is_v2, is_eager, is_fp16;
    bool is_fp8;              /* weights of linear layers are made fp8 on loading */
    uint64_t tensor_parallel; /* devices that share a layer */
    uint64_t stages;
    uint64_t heads, kv_heads, vocab;       /* of a device */
    uint64_t intermediate, expert, shared; /* the same: of an MLP, an expert, those that
                                              every token has */
    uint64_t positions;                    /* max_position_embeddings */
    uint64_t tokens, seqs;    /* most of a step: max_num_batched_tokens, max_num_seqs */
    uint64_t length;          /* max_model_len */
    uint64_t kv_element;      /* bytes of an element of the cache */
    uint64_t total_bytes;     /* of a device, as CUDA says; 0: unknown */
    uint64_t requested_bytes; /* that the engine may take of it */
} ms_vllm_setup;

/* Layers and more of one device. */
typedef struct ms_vllm_rank {
    uint64_t first_layer, layers;
    bool has_embeddings, has_head; /* has_head: the last stage, which samples */
} ms_vllm_rank;

/* MS_ERR_CONFIG: the model is not known; MS_ERR_USAGE: settings that exclude each other. */
ms_status ms_vllm_setup_resolve(const ms_infer_job *job, ms_vllm_setup *setup, ms_error *err);

ms_vllm_rank ms_vllm_rank_of(const ms_vllm_setup *setup, uint64_t stage);

static inline uint64_t ms_vllm_ceil_div(uint64_t value, uint64_t step)
{
    return step > 1 ? (value + step - 1) / step : value;
}

bool ms_vllm_is_sparse(const ms_vllm_setup *setup, uint64_t layer);
/* Whether a layer's cache is limited to a window. */
bool ms_vllm_slides(const ms_vllm_setup *setup, uint64_t layer);

#endif
