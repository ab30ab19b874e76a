/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * torch.stack of a list of tensors. Conventions are those of ops.h.
 */
#ifndef MS_TORCH_OPS_STACK_H
#define MS_TORCH_OPS_STACK_H

#include "torch/ops/ops.h"

/* stack(items, dim) of `count` tensors, at least one, of one shape and type; the caller owns them.
 */
ms_tensor ms_stack_list(ms_tape *tape, const ms_tensor *items, uint32_t count, uint32_t dim);

#endif
