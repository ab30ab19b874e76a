/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Linear layers of a quantised base: packed weights with what stands beside them, dequantised
 * whenever they are multiplied with. A kind is a row of quantized.c.
 */
#ifndef MS_MODEL_BLOCKS_QUANTIZED_H
#define MS_MODEL_BLOCKS_QUANTIZED_H

#include "model/blocks/blocks.h"
#include "model/blocks/packing.h"

/* The kind's row; NULL where weights are not packed. */
const ms_packing *ms_packing_of(const ms_quantization *quantization);

/* A packed weight, as a parameter; NULL: out of memory. */
struct ms_quantized *ms_quantized_new(ms_model *model, uint32_t scope, ms_dim out, ms_dim in);

/* The whole model is on the device. */
void ms_quantized_finish(ms_model *model);

/* A stack of experts' weights [E, out, in], of a kind that packs them. */
ms_tensor ms_packed_experts_new(ms_model *model, uint32_t scope, const char *name, ms_shape shape);

/* What prepare_model_for_kbit_training does to the types: every weight in half precision that is
 * not packed goes to fp32, and the allocator's cache to the device. */
void ms_upcast(ms_model *model);

/* The layer's forward. Consumes x. */
ms_tensor ms_quantized_call(ms_model *model, const struct ms_quantized *quantized,
                            const ms_linear_module *module, ms_tensor x);

#endif
