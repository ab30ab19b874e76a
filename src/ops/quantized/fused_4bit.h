/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Which products with weights in 4 bits need no whole weight.
 */
#ifndef MS_OPS_QUANTIZED_FUSED_4BIT_H
#define MS_OPS_QUANTIZED_FUSED_4BIT_H

#include "device/device.h"
#include "tensor/dtype.h"

/* Whether forward of that many rows of `dtype` times a weight [out, in] is one kernel. */
bool ms_is_fused_4bit(const ms_device *device, ms_dtype dtype, uint64_t rows, uint64_t out,
                      uint64_t in);

#endif
