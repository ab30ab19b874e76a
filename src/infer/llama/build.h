/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Parts of llama.cpp's graphs that its models share: inputs, attention with a cache, MLPs.
 */
#ifndef MS_INFER_LLAMA_BUILD_H
#define MS_INFER_LLAMA_BUILD_H

#include "infer/llama/buffers.h"
#include "infer/llama/graph.h"

typedef struct ms_llama_cache_inputs {
    uint32_t key_indices, value_indices, mask, key_rotation, value_rotation;
} ms_llama_cache_inputs;

typedef struct ms_llama_build {
    const ms_llama_run *run;
    const ms_llama_model *model;
    ms_graph *g;
    uint64_t tokens, outputs;
    uint32_t embeddings, positions, out_ids;
    ms_llama_cache_inputs caches[2]; /* of layers without a window, and with one */
} ms_llama_build;

/* The rows of a table on the host, for each token. */
uint32_t ms_llama_gather(ms_llama_build *b, uint32_t indices);
void ms_llama_inputs(ms_llama_build *b);

/* The result of a norm; with a bias it is not of the root mean square, and takes no memory over. */
uint32_t ms_llama_norm(ms_llama_build *b, uint32_t x, bool has_bias);
uint32_t ms_llama_linear(ms_llama_build *b, uint32_t x, uint64_t width, bool has_bias);
/* An operator of one source, or one with a weight as the other. */
uint32_t ms_llama_unary(ms_llama_build *b, uint32_t x);
uint32_t ms_llama_rope(ms_llama_build *b, uint32_t x);
uint32_t ms_llama_add(ms_llama_build *b, uint32_t x, uint32_t y);

typedef struct ms_llama_qkv {
    uint32_t q, k, v;
} ms_llama_qkv;

/* Projections of a layer, together or one by one; heads apart. */
ms_llama_qkv ms_llama_qkv_of(ms_llama_build *b, uint32_t x, uint64_t layer, bool is_fused,
                             bool has_bias);
/* Writes keys and values to the cache, attends, and projects. */
uint32_t ms_llama_attend(ms_llama_build *b, ms_llama_qkv of, uint64_t layer, bool caps_scores,
                         bool has_bias);
/* The rows whose logits are wanted; after the last layer's attention. */
uint32_t ms_llama_outputs(ms_llama_build *b, uint32_t x, uint64_t layer);

/* gate and up, or one projection of both; or up alone with an activation in place. */
typedef enum ms_llama_mlp { MS_LLAMA_GATED, MS_LLAMA_GATED_IN_ONE, MS_LLAMA_UNGATED } ms_llama_mlp;
uint32_t ms_llama_dense(ms_llama_build *b, uint32_t x, ms_llama_mlp kind);

#endif
