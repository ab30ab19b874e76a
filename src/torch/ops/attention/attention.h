/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Internal to the attention operators.
 */
#ifndef MS_TORCH_OPS_ATTENTION_ATTENTION_H
#define MS_TORCH_OPS_ATTENTION_ATTENTION_H

#include "torch/autograd/tape.h"
#include "input/config/run/run_config.h"

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

#endif
