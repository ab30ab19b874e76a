/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The auxiliary loss of routers (load_balancing_loss_func): over all sparse layers, the share of
 * tokens of each expert times its mean router probability.
 */
#ifndef MS_MODEL_DECODER_ROUTER_LOSS_H
#define MS_MODEL_DECODER_ROUTER_LOSS_H

#include "model/decoder/experts.h"

/* Retains a router's logits until ms_router_logits_drop. */
void ms_router_logits_keep(ms_model *model, ms_tensor logits);
void ms_router_logits_drop(ms_model *model);
/* loss += coefficient * auxiliary loss. */
void ms_router_loss_add(ms_model *model, ms_locals *f, ms_tensor *auxiliary, ms_tensor *loss);

#endif
