/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The math back end of scaled_dot_product_attention: plain operators, with a causal mask made anew
 * in every call and keys and values copied for every query head.
 */
#ifndef MS_OPS_ATTENTION_ATTENTION_MATH_H
#define MS_OPS_ATTENTION_ATTENTION_MATH_H

#include "ops/attention/attention.h"

/* A mask as it is added to the scores: a bool one is converted to the query's dtype. */
ms_tensor ms_mask_as_bias(ms_tape *tape, ms_tensor q, ms_tensor mask);
/* PyTorch's composed attention, by an additive mask (0: none), else causal or not. Borrows its
 * arguments. */
ms_tensor ms_attention_math(ms_tape *tape, ms_tensor q, ms_tensor k, ms_tensor v, ms_tensor mask,
                            bool causal, double dropout);
/* A bool mask [B, 1, S, S] as 0 and -inf. */
ms_tensor ms_additive_of(ms_tape *tape, ms_tensor bool_mask, ms_dtype dtype);

#endif
