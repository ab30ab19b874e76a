/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Cut cross entropy: the loss of hidden states and a head's weight in kernels that keep no logits.
 * Source: cut_cross_entropy/cce.py, cce_lse_forward.py, indexed_dot.py and cce_backward.py of the
 * fork of axolotl (5f0c7a7). Conventions are those of ops.h.
 */
#ifndef MS_TORCH_OPS_CUT_CUT_CROSS_ENTROPY_H
#define MS_TORCH_OPS_CUT_CUT_CROSS_ENTROPY_H

#include "torch/ops/ops.h"

/* The sum, a scalar in fp32, of hidden states [B, S, H], a head's weight [V, H], its bias [V] (0:
 * none), labels [B, S] and the places of those that count, int64 [N]. Hidden states and weight have
 * 16 bits. */
ms_tensor ms_cut_cross_entropy(ms_tape *tape, ms_tensor hidden, ms_tensor weight, ms_tensor bias,
                               ms_tensor labels, ms_tensor places);

#endif
