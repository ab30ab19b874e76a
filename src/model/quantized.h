/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Linear layers of bitsandbytes: packed weights with their scales, dequantised whenever they are
 * multiplied with.
 */
#ifndef MS_MODEL_QUANTIZED_H
#define MS_MODEL_QUANTIZED_H

#include "model/blocks.h"

/* What stands beside a packed weight; 0 where there is none. */
struct ms_quantized {
    ms_shape shape; /* of the weight, [out, in] */
    uint64_t blocks;
    ms_tensor absmax, code; /* a scale for each block; the values of the codes */
    ms_tensor offset;       /* of scales that are quantised too, with the two below */
    ms_tensor outer_absmax, outer_code;
};

/* Packs a weight that has come to the device and lets go of the original; NULL: out of memory. */
struct ms_quantized *ms_quantize(ms_model *model, uint32_t scope, ms_tensor weight);

/* What prepare_model_for_kbit_training does to the types: every weight in half precision that is
 * not packed goes to fp32, and the allocator's cache to the device. */
void ms_upcast(ms_model *model);

/* Linear4bit's forward: computes in the quantisation's type, yields the type of x. Consumes x. */
ms_tensor ms_quantized_call(ms_model *model, const struct ms_quantized *quantized,
                            const ms_linear_module *module, ms_tensor x);

#endif
