/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The module around the gated delta rule: projections, a short convolution of query, key and value,
 * decays, and a gated norm.
 */
#ifndef MS_MODEL_RECURRENT_DELTA_NET_H
#define MS_MODEL_RECURRENT_DELTA_NET_H

#include "model/decoder/decoder.h"

/* Projections of the hidden state. */
typedef enum ms_delta_form {
    MS_DELTA_BY_HEADS, /* two products, with parts interleaved by head */
    MS_DELTA_BY_PARTS  /* four products, one per part */
} ms_delta_form;

/* The module "linear_attn" (delta_net.c): [B, S, H] to [B, S, H]. */
void *ms_delta_net_new(ms_model *model, ms_delta_form form, uint32_t parent);
ms_tensor ms_delta_net(ms_model *model, const void *net, ms_tensor hidden);

#endif
