/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Reading and adding rows by index, and finding the rows of an expert.
 */
#ifndef MS_TORCH_OPS_MOE_ROWS_H
#define MS_TORCH_OPS_MOE_ROWS_H

#include "torch/ops/moe/experts.h"

/* a[rows] with rows int64 [T]: [T, ..], or [N, K]: [N, K, ..]. */
ms_tensor ms_index_rows(ms_tape *tape, ms_tensor a, ms_tensor rows);
/* The same with `count` rows whose numbers are on the host: `rows` is 0, or on the CPU the tensor
 * that has them. */
ms_tensor ms_index_by_host(ms_tape *tape, ms_tensor a, ms_tensor rows, ms_dim count);
/* a.index_select(0, rows): [T, ..]. Backward adds the rows to zeros. */
ms_tensor ms_select_rows(ms_tape *tape, ms_tensor a, ms_tensor rows);
/* a[.., [i], ..] with a Python number i: that dimension becomes 1. */
ms_tensor ms_index_one(ms_tape *tape, ms_tensor a, uint32_t dim);
/* a[rows, columns]: [T, ..]. */
ms_tensor ms_index_pairs(ms_tape *tape, ms_tensor a, ms_tensor rows, ms_tensor columns);
/* a[rows[:, None], columns] without a gradient, of that shape: on a GPU indices with other strides
 * than they broadcast to are copied. */
ms_tensor ms_index_grid(ms_tape *tape, ms_shape shape, ms_dtype dtype);
/* In a backward of index: index % size * stride for each of `count` indices of that shape, the
 * later ones added to the first; and the sorting of such indices of one of `places` elements. */
ms_tensor ms_linear_index(ms_tape *tape, uint32_t count, ms_shape shape);
void ms_sort_linear(ms_tape *tape, const ms_shape *shape, uint64_t places);
/* a.index_add_(0, rows, source), in place. */
ms_tensor ms_index_add_into(ms_tape *tape, ms_tensor a, ms_tensor rows, ms_tensor source);
/* a.repeat(times, 1) of [N, H]: [times * N, H] */
ms_tensor ms_repeat_rows(ms_tape *tape, ms_tensor a, ms_dim times);
/* one_hot(a, classes), int64 */
ms_tensor ms_one_hot(ms_tape *tape, ms_tensor a, ms_dim classes);
/* nonzero() of a tensor of that shape with `count` non-zero elements: int64 [rank, count]. */
ms_tensor ms_nonzero(ms_tape *tape, const ms_shape *shape, bool is_contiguous, ms_dim count);

/* ---- masked ---- */

/* Reading and writing the rows that a mask selects. */

/* a[mask] with a bool mask of a's first dimensions that selects `count` places: [count, ..] */
ms_tensor ms_index_mask(ms_tape *tape, ms_tensor a, ms_tensor mask, ms_dim count);
/* a[mask] = source, [count, ..], in place. */
ms_tensor ms_put_mask(ms_tape *tape, ms_tensor a, ms_tensor mask, ms_tensor source);

#endif
