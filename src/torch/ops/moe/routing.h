/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Routing tokens to experts: weights, sort and counts.
 */
#ifndef MS_TORCH_OPS_MOE_ROUTING_H
#define MS_TORCH_OPS_MOE_ROUTING_H

#include "torch/ops/moe/experts.h"

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
