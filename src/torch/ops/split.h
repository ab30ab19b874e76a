/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Splitting and joining tensors, beside what ops.h declares of it, and the layout of pictures.
 */
#ifndef MS_TORCH_OPS_SPLIT_H
#define MS_TORCH_OPS_SPLIT_H

#include "torch/ops/ops.h"

/* ---- layout ---- */

/* The layout of pictures: of four dimensions the second is the innermost. */

/* Whether a tensor has that layout, as PyTorch decides by its strides. */
bool ms_is_channels_last(const ms_tensor_info *info);
/* A new tensor of four dimensions in that layout. */
ms_tensor ms_channels_last(ms_tape *tape, ms_shape shape, ms_dtype dtype);

/* ---- stack ---- */

/* torch.stack of a list of tensors. Conventions are those of ops.h. */

/* stack(items, dim) of `count` tensors, at least one, of one shape and type; the caller owns them.
 */
ms_tensor ms_stack_list(ms_tape *tape, const ms_tensor *items, uint32_t count, uint32_t dim);

#endif
