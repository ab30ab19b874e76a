/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Liger's losses (liger-kernel 0.8): head and loss fused, which computes both gradients in forward,
 * chunk by chunk, without logits of all tokens; and the loss of given logits.
 */
#ifndef MS_TORCH_OPS_LIGER_LIGER_LOSS_H
#define MS_TORCH_OPS_LIGER_LIGER_LOSS_H

#include "torch/ops/liger/liger.h"

/* Head without bias and loss over hidden states [T, H]; computes the gradients too. A chunk's
 * logits have `share` times the bytes of the hidden states. */
ms_tensor ms_liger_loss(ms_tape *tape, ms_tensor hidden, ms_tensor weight, uint64_t share);
/* The loss of logits [T, V], which their gradient overwrites. */
ms_tensor ms_liger_cross_entropy(ms_tape *tape, ms_tensor logits);

#endif
