/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The layout of pictures: of four dimensions the second is the innermost.
 */
#ifndef MS_TORCH_OPS_LAYOUT_H
#define MS_TORCH_OPS_LAYOUT_H

#include "torch/autograd/tape.h"

/* Whether a tensor has that layout, as PyTorch decides by its strides. */
bool ms_is_channels_last(const ms_tensor_info *info);
/* A new tensor of four dimensions in that layout. */
ms_tensor ms_channels_last(ms_tape *tape, ms_shape shape, ms_dtype dtype);

#endif
