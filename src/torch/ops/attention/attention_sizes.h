/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The sizes of a call of attention, and its work.
 */
#ifndef MS_TORCH_OPS_ATTENTION_ATTENTION_SIZES_H
#define MS_TORCH_OPS_ATTENTION_ATTENTION_SIZES_H

#include "torch/autograd/tape.h"

typedef struct ms_attention_sizes {
    ms_dim batch, heads, kv_heads, seq, keys, head_dim, value_dim; /* seq: of the queries */
} ms_attention_sizes;

/* Of [B, H, S, D] tensors. */
ms_attention_sizes ms_attention_sizes_of(const ms_shape *q, const ms_shape *k, const ms_shape *v);

/* Notes the floating-point work of so many products of [S, D] matrices, half of each S*S one. */
void ms_attention_work(ms_tape *tape, ms_op_mark mark, const ms_attention_sizes *sizes,
                       double products, ms_dtype dtype);

#endif
