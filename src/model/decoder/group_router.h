/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * DeepSeek-V3's router, in fp32: it chooses experts from the best groups.
 */
#ifndef MS_MODEL_DECODER_GROUP_ROUTER_H
#define MS_MODEL_DECODER_GROUP_ROUTER_H

#include "model/decoder/experts.h"

typedef struct ms_group_router {
    uint32_t scope;
    ms_tensor weight, bias; /* bias: a buffer */
} ms_group_router;

/* The router below a module "gate". */
ms_group_router ms_group_router_new(ms_model *model, uint32_t parent);
/* hidden: [B, S, H]; the tensors of `out` are retained until ms_routing_bind. */
void ms_group_router_call(ms_model *model, const ms_group_router *router, ms_tensor hidden,
                          ms_routing *out);

#endif
