/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Grouped matrix products with fp8 weights.
 */
#ifndef MS_TORCH_OPS_QUANTIZED_FP8_H
#define MS_TORCH_OPS_QUANTIZED_FP8_H

#include "torch/autograd/tape.h"

/* As ms_grouped_mm, with weights [E, N, K] in fp8; only x needs a gradient. */
ms_tensor ms_grouped_fp8(ms_tape *tape, ms_tensor x, ms_tensor weights, ms_tensor offsets);

#endif
