/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Shared by DeepSeek's families: multi-head latent attention, and experts with shared experts.
 */
#ifndef MS_MODEL_MIXTURE_DEEPSEEK_H
#define MS_MODEL_MIXTURE_DEEPSEEK_H

#include "model/decoder/experts.h"

/* ---- experts (deepseek_moe.c) ---- */

typedef struct ms_group_router {
    uint32_t scope;
    ms_tensor weight, bias; /* bias: a buffer, 0: none */
} ms_group_router;

/* The router's forward after its logits: fills weights and experts, retained until ms_routing_bind.
 * Its locals are in `f`; `logits` is one of them. */
typedef void (*ms_group_route)(ms_model *model, const ms_group_router *router, ms_locals *f,
                               ms_tensor logits, ms_routing *out);

typedef struct ms_deepseek_form {
    ms_group_route route;
    bool has_bias;     /* of the router */
    bool bias_in_fp32; /* created in fp32, then cast to the model's dtype */
    bool mlp_bias;
} ms_deepseek_form;

/* Keys of both families. */
#define LATENT_KEYS(query_rank_default)                                                            \
    COUNT("qk_rope_head_dim", head_dim, 64, MAX_HEAD_DIM),                                         \
        COUNT("qk_nope_head_dim", plain_key_dim, 128, MAX_HEAD_DIM),                               \
        COUNT("v_head_dim", value_dim, 128, MAX_HEAD_DIM),                                         \
        OPTIONAL("q_lora_rank", query_rank, MS_DEFAULT_VALUE, query_rank_default,                  \
                 MS_DEFAULT_VALUE, 0, MAX_HIDDEN),                                                 \
        COUNT("kv_lora_rank", latent_rank, 512, MAX_HIDDEN)

#endif
