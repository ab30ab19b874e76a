/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What DeepSeek's families share: multi-head latent attention, and experts with shared ones beside.
 */
#ifndef MS_MODEL_MIXTURE_DEEPSEEK_H
#define MS_MODEL_MIXTURE_DEEPSEEK_H

#include "model/decoder/experts.h"

/* ---- attention (latent_attention.c); members of ms_decoder_style ---- */

void *ms_latent_attention_new(ms_model *model, const ms_decoder *d, uint32_t scope,
                              uint32_t number);
ms_tensor ms_latent_attention(ms_model *model, ms_decoder *d, const ms_decoder_layer *layer,
                              ms_tensor hidden, ms_tensor *weights);

/* ---- experts (deepseek_moe.c) ---- */

typedef struct ms_group_router {
    uint32_t scope;
    ms_tensor weight, bias; /* bias: a buffer, 0: none */
} ms_group_router;

/* What the router's forward does after its logits: fills weights and experts, held until
 * ms_routing_bind. Its locals are in `f`; `logits` is one of them. */
typedef void (*ms_group_route)(ms_model *model, const ms_group_router *router, ms_frame *f,
                               ms_tensor logits, ms_routing *out);

typedef struct ms_deepseek_form {
    ms_group_route route;
    bool has_bias;     /* of the router */
    bool bias_in_fp32; /* as it is made; the model's type casts it */
    bool mlp_bias;
} ms_deepseek_form;

/* A dense MLP, or experts from first_sparse_layer on. */
void *ms_deepseek_mlp_new(ms_model *model, ms_deepseek_form form, uint32_t parent, uint32_t number);
ms_tensor ms_deepseek_mlp(ms_model *model, const ms_decoder_layer *layer, ms_tensor hidden);
/* DeepSeek-V3's: the best experts by sigmoid and bias, of the groups whose two best are best. */
void ms_route_by_sigmoid(ms_model *model, const ms_group_router *router, ms_frame *f,
                         ms_tensor logits, ms_routing *out);
/* Locals of the router: which groups are best, and 1 for their experts, [N, E]. */
typedef struct ms_group_choice {
    ms_tensor *groups, *mask;
} ms_group_choice;
ms_group_choice ms_choose_groups(ms_model *model, ms_frame *f, ms_tensor group_scores);
/* scores.view(-1, groups, experts / groups) */
ms_tensor ms_by_group(ms_model *model, ms_tensor scores);

uint8_t ms_sparse_from_first(const ms_model_config *config, uint64_t layer);
ms_status ms_check_latent(const ms_model_config *config, ms_error *err);
/* That experts can be chosen from groups of so many at least; 0: there are no groups. */
ms_status ms_check_groups(const ms_model_config *config, uint64_t least, ms_error *err);

/* Keys that both families have. */
#define LATENT_KEYS(query_rank_default)                                                            \
    COUNT("qk_rope_head_dim", head_dim, 64, MAX_HEAD_DIM),                                         \
        COUNT("qk_nope_head_dim", plain_key_dim, 128, MAX_HEAD_DIM),                               \
        COUNT("v_head_dim", value_dim, 128, MAX_HEAD_DIM),                                         \
        OPTIONAL("q_lora_rank", query_rank, MS_DEFAULT_VALUE, query_rank_default,                  \
                 MS_DEFAULT_VALUE, 0, MAX_HIDDEN),                                                 \
        COUNT("kv_lora_rank", latent_rank, 512, MAX_HIDDEN)

#endif
