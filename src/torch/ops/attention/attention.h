/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Internal to the attention operators.
 */
#ifndef MS_TORCH_OPS_ATTENTION_ATTENTION_H
#define MS_TORCH_OPS_ATTENTION_ATTENTION_H

#include "input/config/run/run_config.h"
#include "torch/autograd/tape.h"

/* ---- attention sizes ---- */

/* The sizes of a call of attention, and its work. */

typedef struct ms_attention_sizes {
    ms_dim batch, heads, kv_heads, seq, keys, head_dim, value_dim; /* seq: of the queries */
} ms_attention_sizes;

/* Of [B, H, S, D] tensors. */
ms_attention_sizes ms_attention_sizes_of(const ms_shape *q, const ms_shape *k, const ms_shape *v);

/* Notes the floating-point work of so many products of [S, D] matrices, half of each S*S one. */
void ms_attention_work(ms_tape *tape, ms_op_mark mark, const ms_attention_sizes *sizes,
                       double products, ms_dtype dtype);

/* The arguments of a call besides its tensors. */
typedef struct ms_attention_call_args {
    ms_tensor mask; /* bool or additive; 0: none */
    double dropout;
    bool both_ways; /* not causal */
} ms_attention_call_args;

/* A fused kernel over [B, H, S, D]. Borrows its arguments. */
ms_tensor ms_attention_kernel(ms_tape *tape, ms_attention backend, ms_tensor q, ms_tensor k,
                              ms_tensor v, ms_attention_call_args c);

/* ---- the flash kernel outside autograd, on [B, H, S, D]; queries and keys may differ in S ---- */

typedef struct ms_flash_result {
    ms_tensor out, lse; /* like q; [B, H, S] in fp32 */
    ms_tensor state[2]; /* of the random generator */
} ms_flash_result;

typedef struct ms_flash_saved {
    ms_tensor q, k, v, out;
} ms_flash_saved;

/* All results float. */
ms_flash_result ms_flash_call(ms_tape *tape, ms_tensor q, ms_tensor k, ms_tensor v, bool both_ways);
/* The gradients of q, k and v: row sums and the fp32 accumulator of dq, padded to whole blocks;
 * with grouped queries also dk and dv for every query head. */
void ms_flash_gradients(ms_tape *tape, const ms_flash_saved *saved, ms_tensor grad, bool both_ways,
                        ms_tensor *out);

/* ---- bias ---- */

/* Biases of attention scores that are learned: what makes them, and their gradients. */

/* where(condition, a, number): [..] of the type of `a`; `condition`, bools, broadcasts to it. */
ms_tensor ms_where_number(ms_tape *tape, ms_tensor condition, ms_tensor a);

#endif
