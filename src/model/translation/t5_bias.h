/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * T5's bias of relative positions.
 */
#ifndef MS_MODEL_TRANSLATION_T5_BIAS_H
#define MS_MODEL_TRANSLATION_T5_BIAS_H

#include "model/translation/t5_layers.h"

/* compute_bias: a row of the table for every pair of a query of the stack and a key, [1, heads, S,
 * keys]. */
ms_tensor ms_t5_position_bias(ms_model *model, const ms_t5_attention *attention,
                              const ms_t5_stack *stack, ms_dim keys);

#endif
