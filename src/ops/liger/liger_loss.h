/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Liger's losses (liger-kernel 0.8): the head with its loss, which computes both gradients in
 * forward, piece by piece, and makes no logits of all tokens; and the loss of logits alone.
 */
#ifndef MS_OPS_LIGER_LIGER_LOSS_H
#define MS_OPS_LIGER_LIGER_LOSS_H

#include "ops/liger/liger.h"

/* The loss of a head without bias over hidden states [T, H]: its gradients are made here too.
 * Logits are made in pieces of `share` times the bytes of the hidden states. */
ms_tensor ms_liger_loss(ms_tape *tape, ms_tensor hidden, ms_tensor weight, uint64_t share);
/* The loss of logits [T, V], over which their gradient is written. */
ms_tensor ms_liger_cross_entropy(ms_tape *tape, ms_tensor logits);

#endif
