/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Internal to the attention operators.
 */
#ifndef MS_OPS_ATTENTION_ATTENTION_H
#define MS_OPS_ATTENTION_ATTENTION_H

#include "autograd/tape.h"
#include "config/run/run_config.h"

/* The arguments of a call besides its tensors. */
typedef struct ms_attention_call_args {
    ms_tensor mask; /* bool or additive; 0: none */
    double dropout;
    bool both_ways; /* not causal */
} ms_attention_call_args;

/* A fused kernel over [B, H, S, D]. Borrows its arguments. */
ms_tensor ms_attention_kernel(ms_tape *tape, ms_attention backend, ms_tensor q, ms_tensor k,
                              ms_tensor v, ms_attention_call_args c);

/* A mask as it is added to the scores: a bool one is converted to the query's dtype. */
ms_tensor ms_mask_as_bias(ms_tape *tape, ms_tensor q, ms_tensor mask);

/* PyTorch's composed attention, by an additive mask (0: none), else causal or not. Borrows its
 * arguments. */
ms_tensor ms_attention_math(ms_tape *tape, ms_tensor q, ms_tensor k, ms_tensor v, ms_tensor mask,
                            bool causal, double dropout);

/* A bool mask [B, 1, S, S] as 0 and -inf. */
ms_tensor ms_additive_of(ms_tape *tape, ms_tensor bool_mask, ms_dtype dtype);

/* Allocates and frees the per-thread buffers of the CPU's flash kernel for that many queries and
 * keys.
 */
void ms_attention_cpu_forward_buffers(ms_tape *tape, uint64_t queries, uint64_t keys,
                                      uint64_t head_dim, ms_dtype dtype);
void ms_attention_cpu_backward_buffers(ms_tape *tape, uint64_t queries, uint64_t keys,
                                       ms_dtype dtype);

#endif
