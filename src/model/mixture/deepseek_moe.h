/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * DeepSeek's experts: selected by a router in fp32, from the best groups if there are groups, plus
 * shared experts for every token.
 */
#ifndef MS_MODEL_MIXTURE_DEEPSEEK_MOE_H
#define MS_MODEL_MIXTURE_DEEPSEEK_MOE_H

#include "model/mixture/deepseek.h"

/* The router below a module "gate". */
ms_group_router ms_group_router_new(ms_model *model, uint32_t parent, ms_deepseek_form form);
/* hidden: [B, S, H]; the tensors of `out` are retained until ms_routing_bind. */
void ms_group_router_call(ms_model *model, ms_deepseek_form form, const ms_group_router *router,
                          ms_tensor hidden, ms_routing *out);
/* A dense MLP below first_sparse_layer, experts from it on. */
void *ms_deepseek_mlp_new(ms_model *model, ms_deepseek_form form, uint32_t parent, uint32_t number);
ms_tensor ms_deepseek_mlp(ms_model *model, const ms_decoder_layer *layer, ms_tensor hidden);
/* DeepSeek-V3's routing: top experts by sigmoid + bias, from the groups with the largest sum of
 * their top two. */
void ms_route_by_sigmoid(ms_model *model, const ms_group_router *router, ms_locals *f,
                         ms_tensor logits, ms_routing *out);
uint8_t ms_sparse_from_first(const ms_model_config *config, uint64_t layer);
ms_status ms_check_latent(const ms_model_config *config, ms_error *err);
/* Checks that enough experts can be selected and, with `least` > 0, that each of the groups has at
 * least `least` of them. */
ms_status ms_check_groups(const ms_model_config *config, uint64_t least, ms_error *err);
/* The same with groups of two: the two best experts of a group are its score. */
ms_status ms_check_pairs(const ms_model_config *config, ms_error *err);

#endif
