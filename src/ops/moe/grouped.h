/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * grouped_mm: products of groups of rows with a matrix each.
 */
#ifndef MS_OPS_MOE_GROUPED_H
#define MS_OPS_MOE_GROUPED_H

#include "ops/moe/experts.h"

/* grouped_mm: rows of x [T, K] up to each offset times the matrix of their group, of
 * weights [E, K, N]: [T, N]. */
ms_tensor ms_grouped_mm(ms_tape *tape, ms_tensor x, ms_tensor weights, ms_tensor offsets);
/* What a grouped product needs for that many groups of that many rows and columns. */
void ms_grouped_workspace(ms_tape *tape, ms_dtype dtype, uint64_t groups, uint64_t rows,
                          uint64_t columns);

#endif
