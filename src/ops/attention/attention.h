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

#endif
