/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Stacked experts in fp8.
 */
#ifndef MS_MODEL_BLOCKS_PACKED_QUANTIZED_FP8_H
#define MS_MODEL_BLOCKS_PACKED_QUANTIZED_FP8_H

#include "model/blocks/packed/quantized.h"

/* Creates stacked experts' weights [E, out, in], for a kind that packs them. */
ms_tensor ms_packed_experts_new(ms_model *model, uint32_t scope, const char *name, ms_shape shape);

#endif
