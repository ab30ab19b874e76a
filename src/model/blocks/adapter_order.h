/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The order of all parameters, trained and frozen, in a model with adapters.
 */
#ifndef MS_MODEL_BLOCKS_ADAPTER_ORDER_H
#define MS_MODEL_BLOCKS_ADAPTER_ORDER_H

#include "model/blocks/model.h"

/* Fills tape->in_order as named_parameters() has them. `all` are the tape's parameters before some
 * are frozen, the adapters' last; the tensors' leaves are indices into it. */
void ms_adapter_order(ms_model *model, const ms_parameter *all, uint32_t count);

#endif
