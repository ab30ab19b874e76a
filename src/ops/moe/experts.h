/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The operators of mixtures of experts: choosing experts for tokens (routing.c), taking rows by
 * index (rows.c), and products of many small matrices (grouped.c). Conventions are those of ops.h.
 */
#ifndef MS_OPS_MOE_EXPERTS_H
#define MS_OPS_MOE_EXPERTS_H

#include "ops/ops.h"

/* ---- routing ---- */

/* topk(a, k, dim=-1): the values, and where they were (int64), both [.., k]. */
void ms_topk(ms_tape *tape, ms_tensor a, ms_dim k, ms_tensor out[2]);
/* a.max(dim=-1) or with keepdim=True: the values, and where they were. */
void ms_max_last(ms_tape *tape, ms_tensor a, bool keep, ms_tensor out[2]);
ms_tensor ms_zeros_like(ms_tape *tape, ms_tensor a); /* needs no gradient */
ms_tensor ms_where_zero(ms_tape *tape, ms_tensor a); /* ~a.bool() */
/* a.masked_fill(mask, c): c is a Python number */
ms_tensor ms_masked_fill(ms_tape *tape, ms_tensor a, ms_tensor mask);
ms_tensor ms_masked_fill_(ms_tape *tape, ms_tensor a, ms_tensor mask); /* in place: yields `a` */
/* a.gather(-1, indices) */
ms_tensor ms_gather_last(ms_tape *tape, ms_tensor a, ms_tensor indices);
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

/* ---- rows by index ---- */

/* a[rows]: the rows of a that `rows` (int64 [T]) names; [T, ..]. */
ms_tensor ms_index_rows(ms_tape *tape, ms_tensor a, ms_tensor rows);
/* a[.., [i], ..] with a Python number: that dimension is 1. */
ms_tensor ms_index_one(ms_tape *tape, ms_tensor a, uint32_t dim);
/* a[rows, columns]: [T, ..]. */
ms_tensor ms_index_pairs(ms_tape *tape, ms_tensor a, ms_tensor rows, ms_tensor columns);
/* a.index_add_(0, rows, source): a's storage holds the result. */
ms_tensor ms_index_add_into(ms_tape *tape, ms_tensor a, ms_tensor rows, ms_tensor source);
/* one_hot(a, classes), int64 */
ms_tensor ms_one_hot(ms_tape *tape, ms_tensor a, ms_dim classes);
/* nonzero() of a tensor of that shape with `count` of them: int64 [rank, count]. */
ms_tensor ms_nonzero(ms_tape *tape, const ms_shape *shape, bool is_contiguous, ms_dim count);

/* ---- products ---- */

/* grouped_mm: rows of x [T, K] up to each offset times the matrix of their group, of
 * weights [E, K, N]: [T, N]. */
ms_tensor ms_grouped_mm(ms_tape *tape, ms_tensor x, ms_tensor weights, ms_tensor offsets);
/* The same with weights [E, N, K] in fp8; only x needs a gradient (fp8.c). */
ms_tensor ms_grouped_fp8(ms_tape *tape, ms_tensor x, ms_tensor weights, ms_tensor offsets);
/* What a grouped product needs for that many groups of that many rows and columns. */
void ms_grouped_workspace(ms_tape *tape, ms_dtype dtype, uint64_t groups, uint64_t rows,
                          uint64_t columns);

#endif
