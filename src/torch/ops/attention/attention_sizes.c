/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "torch/ops/attention/attention_sizes.h"

#include "torch/ops/ops.h"

ms_attention_sizes ms_attention_sizes_of(const ms_shape *q, const ms_shape *k, const ms_shape *v)
{
    return (ms_attention_sizes){q->dims[0], q->dims[1], k->dims[1], q->dims[2],
                                k->dims[2], q->dims[3], v->dims[3]};
}

/* The last query sees all keys, where attention is causal each one before it one key less: of S
 * queries and keys half of the two S*S products; backward does five products for the forward's two.
 */
void ms_attention_work(ms_tape *tape, ms_op_mark mark, const ms_attention_sizes *s, double products,
                       ms_dtype dtype)
{
    double queries = (double)s->seq.value, seen = (double)s->keys.value - queries / 2;
    double flops = products * (double)s->batch.value * (double)s->heads.value * 2 * queries * seen *
                   (double)(s->head_dim.value + s->value_dim.value) / 2;
    ms_op_work(tape, mark, flops, 0, dtype);
}
