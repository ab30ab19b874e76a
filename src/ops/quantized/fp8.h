/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Products of groups of rows with weights in fp8.
 */
#ifndef MS_OPS_QUANTIZED_FP8_H
#define MS_OPS_QUANTIZED_FP8_H

#include "autograd/tape.h"

/* The same with weights [E, N, K] in fp8; only x needs a gradient (fp8.c). */
ms_tensor ms_grouped_fp8(ms_tape *tape, ms_tensor x, ms_tensor weights, ms_tensor offsets);

#endif
