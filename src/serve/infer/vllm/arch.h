/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * How vLLM's classes of models differ, one row for each type of config.json that is known. Read
 * from vllm/model_executor/models of 0.20.2 and 0.25.1, and compared with measured starts.
 */
#ifndef MS_SERVE_INFER_VLLM_ARCH_H
#define MS_SERVE_INFER_VLLM_ARCH_H

#include "base/arena.h"
#include "input/config/model/model_config.h"

typedef enum ms_vllm_bias {
    MS_VLLM_BIAS_NEVER,
    MS_VLLM_BIAS_ALWAYS,
    MS_VLLM_BIAS_ASKED /* as the config's attention_bias says */
} ms_vllm_bias;

/* When the norms of each head's query and key are made. */
typedef enum ms_vllm_head_norms {
    MS_VLLM_HEAD_NORMS_NONE,
    MS_VLLM_HEAD_NORMS_BEFORE_ROTARY,
    MS_VLLM_HEAD_NORMS_LAST
} ms_vllm_head_norms;

typedef enum ms_vllm_tie {
    MS_VLLM_TIE_REUSES, /* a tied head is the table of embeddings */
    MS_VLLM_TIE_DROPS   /* it is made, and dropped when it is tied */
} ms_vllm_tie;

typedef enum ms_vllm_experts {
    MS_VLLM_EXPERTS_NONE,
    MS_VLLM_EXPERTS_ALL, /* in every layer */
    MS_VLLM_EXPERTS_SOME /* in those that the config says */
} ms_vllm_experts;

/* The table of sines and cosines: in fp32 if FlashInfer's kernels read it, or until a step needs
 * it. */
typedef enum ms_vllm_table {
    MS_VLLM_TABLE_NARROW,
    MS_VLLM_TABLE_WIDE,
    MS_VLLM_TABLE_WIDE_FIRST /* the first step replaces it */
} ms_vllm_table;

typedef struct ms_vllm_arch {
    const char *model_type;
    ms_vllm_bias qkv_bias, out_bias;
    ms_vllm_head_norms head_norms;
    uint32_t norms;    /* of a layer, as wide as the hidden state */
    uint32_t mlp_rows; /* tensors as wide as the hidden state that live beside the MLP's own */
    ms_vllm_tie tie;
    ms_vllm_table table;
    bool has_normalizer; /* a scalar that scales the embeddings */
    bool always_ties;
    ms_vllm_experts experts;
    bool is_latent;         /* attention of DeepSeek: keys and values from a latent */
    bool has_sinks;         /* a scalar of each head; then experts and their router have biases */
    bool has_linear_router; /* it is quantised as linear layers are, unless the config excepts it */
    bool has_shared_gate;   /* of the expert that every token has */
    bool has_router_bias;   /* in fp32, for the choice of experts */
    bool has_v2_experts;    /* runs with the V2 runner, unlike other mixtures */
    bool has_two_rotaries;  /* layers with a window have another base */
} ms_vllm_arch;

/* By model_type; NULL: not known. */
const ms_vllm_arch *ms_vllm_arch_of(const char *model_type);
bool ms_vllm_has_bias(ms_vllm_bias bias, const ms_model_config *config);

#endif
