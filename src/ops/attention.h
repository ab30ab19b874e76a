/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Internal to the attention operators.
 */
#ifndef MS_OPS_ATTENTION_H
#define MS_OPS_ATTENTION_H

#include "tape/tape.h"

/* PyTorch's composed attention, causal or by a bool mask (0: none). Borrows its arguments. */
ms_tensor ms_attention_math(ms_tape *tape, ms_tensor q, ms_tensor k, ms_tensor v, ms_tensor mask,
                            double dropout);

/* A bool mask [B, 1, S, S] as 0 and -inf. */
ms_tensor ms_additive_of(ms_tape *tape, ms_tensor bool_mask, ms_dtype dtype);

/* Makes and gives back the per-thread buffers of the CPU's flash kernel; so many queries and keys.
 */
void ms_attention_cpu_forward_buffers(ms_tape *tape, uint64_t queries, uint64_t keys,
                                      uint64_t head_dim, ms_dtype dtype);
void ms_attention_cpu_backward_buffers(ms_tape *tape, uint64_t queries, uint64_t keys,
                                       ms_dtype dtype);

#endif
