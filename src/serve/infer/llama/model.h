/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A model as llama.cpp sees it: hyperparameters, layers and tensors, from the metadata of a GGUF
 * file or, for a file that does not exist yet, from a config.json.
 */
#ifndef MS_SERVE_INFER_LLAMA_MODEL_H
#define MS_SERVE_INFER_LLAMA_MODEL_H

#include "serve/infer/kit/engine.h"
#include "serve/infer/llama/arch.h"

typedef struct ms_llama_layer {
    uint64_t heads, kv_heads; /* kv_heads 0: the layer has no attention */
    bool slides;              /* attention within the window */
    bool is_sparse;           /* a mixture of experts */
} ms_llama_layer;

/* Where a tensor is, apart from the layers 0 to n_layer - 1. */
enum { MS_LLAMA_INPUT = -1, MS_LLAMA_SHARED = -2 }; /* the head is layer n_layer */

typedef struct ms_llama_tensor {
    const char *name;
    ms_stored_id type;
    uint32_t rank, file;
    uint64_t shape[MS_GGUF_MAX_RANK], bytes;
    uint64_t begin, end; /* in its file; a file that does not exist yet has one, in the order of the
                            list */
    int64_t layer;
} ms_llama_tensor;

typedef struct ms_llama_model {
    ms_llama_arch arch;
    uint64_t n_layer, n_embd, n_vocab, n_ff, head_k, head_v, n_rot, positions;
    uint64_t experts, experts_used, expert_ff, shared_ff, dense_layers;
    uint64_t expert_groups, groups_used; /* above 1: experts are chosen within the best groups */
    uint64_t window;
    uint64_t latent, query_latent; /* of MLA: ranks; 0: none */
    uint64_t plain_k;              /* MLA: width of a head's key without rotary embedding */
    uint64_t conv_width, inner, state, groups; /* recurrent layers */
    uint64_t scan_heads;                       /* of mamba2 */
    bool is_tied;                              /* the head is the table of embeddings */
    bool has_rope_factors;
    bool normalises_experts, scales_experts; /* the weights of a token */
    bool caps_logits;
    const ms_llama_layer *layers;
    ms_vec(ms_llama_tensor) tensors;
} ms_llama_model;

/* Reads or makes it; in the arena of the job but for the tensors. MS_ERR_CONFIG: an architecture
 * that is not known, or a key that is missing or impossible. */
ms_status ms_llama_model_load(const ms_infer_job *job, ms_llama_model *model, ms_error *err);
void ms_llama_model_free(ms_llama_model *model);

/* The types of a file that is made from the job's config, from the largest file to the smallest, of
 * equal ones the first of the list; see ms_infer_engine. */
ms_status ms_llama_quants(const ms_infer_job *job, const char **names, size_t *count,
                          ms_error *err);

static inline uint64_t ms_llama_pad(uint64_t value, uint64_t step)
{
    return (value + step - 1) / step * step;
}

/* Whether the layer keeps a recurrent state in place of keys and values. */
bool ms_llama_is_recurrent(const ms_llama_model *model, uint64_t layer);

/* ---- metadata ---- */

/* Hyperparameters from a GGUF file's metadata. */

/* The context that the model was trained with; 0: the file does not say it. */
uint64_t ms_llama_metadata_positions(const ms_gguf *gguf);

#endif
