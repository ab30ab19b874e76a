/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * torch.einsum of two tensors: both are permuted and reshaped into batches of matrices, copied
 * where their layout allows no view, then bmm. Conventions are those of ops.h.
 */
#ifndef MS_TORCH_OPS_EINSUM_H
#define MS_TORCH_OPS_EINSUM_H

#include "torch/ops/ops.h"

/* a.permute(order): dimension i of the result is dimension order[i] of `a`. */
ms_tensor ms_permute(ms_tape *tape, ms_tensor a, const uint32_t *order);
/* What such a view is of, again; 0: the tensor is none, or has no gradient. */
ms_tensor ms_permute_undone(ms_tape *tape, ms_tensor view);
/* einsum(equation, a, b), as "bclhn,bcshn->bclsh": two operands of at most MS_MAX_RANK letters, one
 * letter for each dimension. At least one letter of both is not in the result, and its size is not
 * 1. The caller owns both operands. */
ms_tensor ms_einsum(ms_tape *tape, const char *equation, ms_tensor a, ms_tensor b);

#endif
