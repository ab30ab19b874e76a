/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Which products with 4-bit weights do not dequantise the weight first.
 */
#ifndef MS_TORCH_OPS_QUANTIZED_FUSED_4BIT_H
#define MS_TORCH_OPS_QUANTIZED_FUSED_4BIT_H

#include "core/device/device.h"
#include "core/tensor/dtype.h"

/* Whether forward of `rows` rows of `dtype` and a weight [out, in] is one fused kernel. */
bool ms_is_fused_4bit(const ms_device *device, ms_dtype dtype, uint64_t rows, uint64_t out,
                      uint64_t in);

#endif
