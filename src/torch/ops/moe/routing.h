/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Routing tokens to experts: weights, sort and counts.
 */
#ifndef MS_TORCH_OPS_MOE_ROUTING_H
#define MS_TORCH_OPS_MOE_ROUTING_H

#include "torch/ops/moe/experts.h"

/* ---- choosing ---- */

/* Selecting experts and groups of experts: top-k, masks and gathering by index. */

/* topk(a, k, dim=-1): values and indices (int64), both [.., k]. */
void ms_topk(ms_tape *tape, ms_tensor a, ms_dim k, ms_tensor out[2]);
/* a.max(dim=-1), or with keepdim=True: values and indices. */
void ms_max_last(ms_tape *tape, ms_tensor a, bool keep, ms_tensor out[2]);
ms_tensor ms_zeros_like(ms_tape *tape, ms_tensor a); /* has no gradient */
ms_tensor ms_where_zero(ms_tape *tape, ms_tensor a); /* ~a.bool() */
/* a.masked_fill(mask, c): c is a Python number */
ms_tensor ms_masked_fill(ms_tape *tape, ms_tensor a, ms_tensor mask);
ms_tensor ms_masked_fill_(ms_tape *tape, ms_tensor a, ms_tensor mask); /* in place: yields `a` */
/* a.gather(-1, indices) */
ms_tensor ms_gather_last(ms_tape *tape, ms_tensor a, ms_tensor indices);
/* a.scatter_(-1, indices, values), in place; `a` has no gradient. */
ms_tensor ms_scatter_last_into(ms_tape *tape, ms_tensor a, ms_tensor indices, ms_tensor values);

/* a /= b where both may need gradients; in place. */
ms_tensor ms_div_into(ms_tape *tape, ms_tensor a, ms_tensor b);
/* a / b where both may need gradients. */
ms_tensor ms_div_by(ms_tape *tape, ms_tensor a, ms_tensor b);
/* a += b, in place. */
ms_tensor ms_add_into(ms_tape *tape, ms_tensor a, ms_tensor b);
/* sort(a) of int64 [T]: values and indices. */
void ms_sort(ms_tape *tape, ms_tensor a, ms_tensor out[2]);
/* histc(a, bins) of [T]: counts [bins]. */
ms_tensor ms_histogram(ms_tape *tape, ms_tensor a, ms_dim bins);
/* cumsum(counts, dtype=int32), [E] */
ms_tensor ms_offsets(ms_tape *tape, ms_tensor counts);
/* inverse = empty_like(order); inverse[order] = arange(T) */
ms_tensor ms_inverse_order(ms_tape *tape, ms_tensor order);

#endif
