/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Sending tokens to experts: weights, sort and counts.
 */
#ifndef MS_OPS_MOE_ROUTING_H
#define MS_OPS_MOE_ROUTING_H

#include "ops/moe/experts.h"

/* a /= b where both may need gradients: a's storage holds the result. */
ms_tensor ms_div_into(ms_tape *tape, ms_tensor a, ms_tensor b);
/* a += b: a's storage holds the result. */
ms_tensor ms_add_into(ms_tape *tape, ms_tensor a, ms_tensor b);
/* sort(a) of int64 [T]: the values, and where they were. */
void ms_sort(ms_tape *tape, ms_tensor a, ms_tensor out[2]);
/* histc(a) of [T] numbers in that many bins: how many fall into each. */
ms_tensor ms_histogram(ms_tape *tape, ms_tensor a, ms_dim bins);
/* cumsum(counts, dtype=int32), [E] */
ms_tensor ms_offsets(ms_tape *tape, ms_tensor counts);
/* inverse = empty_like(order); inverse[order] = arange(T) */
ms_tensor ms_inverse_order(ms_tape *tape, ms_tensor order);

#endif
