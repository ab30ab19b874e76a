/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * grouped_mm: products of groups of rows with one matrix per group.
 */
#ifndef MS_TORCH_OPS_MOE_GROUPED_H
#define MS_TORCH_OPS_MOE_GROUPED_H

#include "torch/ops/moe/experts.h"

/* torch._grouped_mm: x [T, K], whose rows are grouped by offsets [E], times the groups' matrices of
 * weights [E, K, N]: [T, N]. */
ms_tensor ms_grouped_mm(ms_tape *tape, ms_tensor x, ms_tensor weights, ms_tensor offsets);

/* Allocates and frees the workspace of a grouped product. */
void ms_grouped_workspace(ms_tape *tape, ms_dtype dtype, uint64_t groups, uint64_t rows,
                          uint64_t columns);

#endif
