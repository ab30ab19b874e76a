/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The math back end of scaled_dot_product_attention: plain operators; every call makes its causal
 * mask, and copies keys and values for every query head.
 */
#ifndef MS_TORCH_OPS_ATTENTION_ATTENTION_MATH_H
#define MS_TORCH_OPS_ATTENTION_ATTENTION_MATH_H

#include "torch/ops/attention/attention.h"

/* The mask to add to the scores; a bool mask is converted to the query's dtype. */
ms_tensor ms_mask_as_bias(ms_tape *tape, ms_tensor q, ms_tensor mask);
/* PyTorch's composed attention with an additive mask, or, if `mask` is 0, causal or not. Borrows
 * its arguments. */
ms_tensor ms_attention_math(ms_tape *tape, ms_tensor q, ms_tensor k, ms_tensor v, ms_tensor mask,
                            bool causal, double dropout);

#endif
