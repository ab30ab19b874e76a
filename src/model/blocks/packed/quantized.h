/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Linear layers of a quantised base: packed weights and companion tensors, dequantised for each
 * use. A kind is a row of quantized.c.
 */
#ifndef MS_MODEL_BLOCKS_PACKED_QUANTIZED_H
#define MS_MODEL_BLOCKS_PACKED_QUANTIZED_H

#include "model/blocks/blocks.h"
#include "model/blocks/packed/packing.h"

/* The row of the kind; NULL if weights are not packed. */
const ms_packing *ms_packing_of(const ms_quantization *quantization);

/* Creates a packed weight as a parameter; NULL: out of memory. */
struct ms_quantized *ms_quantized_new(ms_model *model, uint32_t scope, ms_dim out, ms_dim in);

/* Call it when the whole model is on the device. */
void ms_quantized_finish(ms_model *model);

/* The casts of prepare_model_for_kbit_training: every half-precision weight that is not packed
 * becomes fp32; then the allocator's cache is emptied. */
void ms_upcast(ms_model *model);

/* The type of weights that are not packed, and so of embeddings: fp32 where the preparation widened
 * them. */
ms_dtype ms_unpacked_dtype(const ms_model *model);

/* DeepSpeed's engine: every parameter that is a number gets the type of the model, adapters too. */
void ms_cast_back(ms_model *model);

/* Forward of the layer. Consumes x. */
ms_tensor ms_quantized_call(ms_model *model, const struct ms_quantized *quantized,
                            const ms_linear_module *module, ms_tensor x);

/* ---- quantized fp8 ---- */

/* Stacked experts in fp8. */

/* Creates stacked experts' weights [E, out, in], for a kind that packs them. */
ms_tensor ms_packed_experts_new(ms_model *model, uint32_t scope, const char *name, ms_shape shape);

#endif
