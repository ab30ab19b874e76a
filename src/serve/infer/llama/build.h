/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Parts of llama.cpp's graphs that its models share: inputs, weights, norms, MLPs. A weight that
 * the model lacks is MS_GRAPH_NONE where it may be absent; else `lacking` names it.
 */
#ifndef MS_SERVE_INFER_LLAMA_BUILD_H
#define MS_SERVE_INFER_LLAMA_BUILD_H

#include "serve/infer/llama/buffers.h"
#include "serve/infer/ggml/graph.h"

typedef struct ms_llama_cache_inputs {
    uint32_t key_indices, value_indices, mask, key_rotation, value_rotation;
} ms_llama_cache_inputs;

typedef struct ms_llama_build {
    const ms_llama_run *run;
    const ms_llama_model *model;
    ms_graph *g;
    uint64_t tokens, outputs;
    uint64_t filled; /* cells of the caches that are read; 0: all */
    uint32_t embeddings, positions, out_ids;
    ms_llama_cache_inputs caches[2]; /* of layers without a window, and with one */
    uint32_t state_rows, no_rows;    /* indices of states: of the sequences, and none */
    uint32_t *leaf;                  /* by the model's tensors; MS_GRAPH_NONE: not met yet */
    const char **part;               /* of the names, behind the layer */
    uint32_t *next, *first;          /* the tensors of a layer, from -2 on */
    uint32_t shared[MS_LLAMA_MAX_DEVICES + 1]; /* factors of rotary embeddings by place */
    bool is_loaded; /* as in a run that loads: norms run where their layers are, whatever is before
                       them, attention on the host where its cache is */
    bool is_fused;  /* CUDA routes experts in one kernel */
    char lacking[48]; /* the name of a weight; or "" */
} ms_llama_build;

/* Prepares for weights; false when out of memory. */
bool ms_llama_build_open(ms_llama_build *b);
void ms_llama_build_close(ms_llama_build *b);

/* `stem` with `end` behind it, as "attn_q" and ".weight", without the cost of formats: a graph has
 * thousands. "" where it is too long, which no tensor is called. */
typedef struct ms_llama_name {
    char text[64];
} ms_llama_name;
ms_llama_name ms_llama_name_of(const char *stem, const char *end);

/* A weight of a layer, or of the head (n_layer), or MS_LLAMA_INPUT: "attn_q.weight". */
uint32_t ms_llama_weight(ms_llama_build *b, int64_t layer, const char *name);
bool ms_llama_has(const ms_llama_build *b, int64_t layer, const char *name);
/* The model cannot run with the weight of that name, or without it. */
void ms_llama_refuse(ms_llama_build *b, const char *name);
/* The same for a weight that must be there. */
uint32_t ms_llama_weight_needed(ms_llama_build *b, int64_t layer, const char *name);
/* Caches and states of a layer, by type and rows. */
uint32_t ms_llama_memory(ms_llama_build *b, uint64_t layer, ms_stored_id type, uint64_t ne0,
                         uint64_t ne1, uint64_t ne2);
const ms_graph_tensor *ms_llama_tensor_of(const ms_llama_build *b, uint32_t t);

/* The rows of a table on the host, for each token. */
uint32_t ms_llama_gather(ms_llama_build *b, const char *table, uint32_t indices);
void ms_llama_inputs(ms_llama_build *b);

/* With the weights NAME.weight and NAME.bias. `is_of_layer`: a norm within a layer, that runs where
 * the layer is. */
uint32_t ms_llama_norm(ms_llama_build *b, uint32_t x, int64_t layer, const char *name,
                       bool is_of_layer);
/* A product with NAME.weight; NAME.bias is added where it exists. */
uint32_t ms_llama_linear(ms_llama_build *b, uint32_t x, int64_t layer, const char *name);
/* The product with a table of embeddings or with output.weight, at the head's place. */
uint32_t ms_llama_head(ms_llama_build *b, uint32_t x);
/* An operator of one source, in its memory where possible; or of two. */
uint32_t ms_llama_unary(ms_llama_build *b, uint32_t x);
uint32_t ms_llama_binary(ms_llama_build *b, uint32_t x, uint32_t y);
uint32_t ms_llama_rope(ms_llama_build *b, uint32_t x, int64_t layer);
/* gate and up in one operator; the shape of `gate`. */
uint32_t ms_llama_glu(ms_llama_build *b, uint32_t gate, uint32_t up);
uint32_t ms_llama_concat(ms_llama_build *b, uint32_t x, uint32_t y);
/* The rows whose logits are wanted. */
uint32_t ms_llama_output_rows(ms_llama_build *b, uint32_t x);

/* gate and up, or one projection of both; or up alone with an activation in place. The weights are
 * ffn_gate`suffix`, ... */
typedef enum ms_llama_mlp { MS_LLAMA_GATED, MS_LLAMA_GATED_IN_ONE, MS_LLAMA_UNGATED } ms_llama_mlp;
uint32_t ms_llama_dense(ms_llama_build *b, uint32_t x, int64_t layer, ms_llama_mlp kind,
                        const char *suffix);

#endif
