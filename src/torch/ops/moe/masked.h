/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Reading and writing the rows that a mask selects.
 */
#ifndef MS_TORCH_OPS_MOE_MASKED_H
#define MS_TORCH_OPS_MOE_MASKED_H

#include "torch/ops/moe/experts.h"

/* a[mask] with a bool mask of a's first dimensions that selects `count` places: [count, ..] */
ms_tensor ms_index_mask(ms_tape *tape, ms_tensor a, ms_tensor mask, ms_dim count);
/* a[mask] = source, [count, ..], in place. */
ms_tensor ms_put_mask(ms_tape *tape, ms_tensor a, ms_tensor mask, ms_tensor source);

#endif
