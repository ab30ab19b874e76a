/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Products with packed weights (bitsandbytes 0.50, autograd/_functions.py: MatMul4Bit). The weight
 * is dequantised in forward, except for few rows, and again in backward; only existing tensors are
 * saved.
 */
#ifndef MS_TORCH_OPS_QUANTIZED_DEQUANTIZE_H
#define MS_TORCH_OPS_QUANTIZED_DEQUANTIZE_H

#include "core/device/device.h"
#include "core/tensor/dtype.h"

/* ---- fused 4bit ---- */

/* Which products with 4-bit weights do not dequantise the weight first. */

/* Whether forward of `rows` rows of `dtype` and a weight [out, in] is one fused kernel. */
bool ms_is_fused_4bit(const ms_device *device, ms_dtype dtype, uint64_t rows, uint64_t out,
                      uint64_t in);

#endif
