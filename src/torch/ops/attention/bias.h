/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Biases of attention scores that are learned: what makes them, and their gradients.
 */
#ifndef MS_TORCH_OPS_ATTENTION_BIAS_H
#define MS_TORCH_OPS_ATTENTION_BIAS_H

#include "torch/autograd/tape.h"

/* where(condition, a, number): [..] of the type of `a`; `condition`, bools, broadcasts to it. */
ms_tensor ms_where_number(ms_tape *tape, ms_tensor condition, ms_tensor a);

/* The mask as the kernels take it: additive in the type of q, in CUDA's with rows of a multiple of
 * 8 numbers; one with a gradient also expanded to [B, H, S, keys]. 0: no mask. Borrows both. */
ms_tensor ms_attention_bias(ms_tape *tape, ms_tensor q, ms_tensor k, ms_tensor mask);

/* The memory-efficient kernel's gradient of such a bias: rows of a multiple of 16 numbers, of which
 * a view is returned, floating. */
ms_tensor ms_efficient_bias_gradient(ms_tape *tape, const ms_shape *bias, ms_dtype dtype);

#endif
