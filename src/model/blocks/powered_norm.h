/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Gemma's norm: x * (mean(x ** 2) + eps) ** -0.5, in fp32, times the weight in fp32, in the type
 * of x.
 */
#ifndef MS_MODEL_BLOCKS_POWERED_NORM_H
#define MS_MODEL_BLOCKS_POWERED_NORM_H

#include "model/blocks/blocks.h"

/* Of a module whose weight is 0 there is no product. */
ms_tensor ms_powered_norm_call(ms_model *model, const ms_norm_module *module, ms_tensor x);

#endif
