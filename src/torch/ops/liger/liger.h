/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Operators of the Liger kernels (liger-kernel 0.8). Conventions are those of ops.h.
 */
#ifndef MS_TORCH_OPS_LIGER_LIGER_H
#define MS_TORCH_OPS_LIGER_LIGER_H

#include "torch/ops/ops.h"

/* `copies`: backward allocates the input's gradient; otherwise it overwrites the output's gradient.
 */
ms_tensor ms_liger_rms_norm(ms_tape *tape, ms_tensor x, ms_tensor weight, bool copies);
/* silu(gate) * up, or gelu(gate) * up */
ms_tensor ms_liger_gate(ms_tape *tape, ms_tensor gate, ms_tensor up, bool is_gelu);
/* q, k: [B, heads, S, D], transposed views of [B, S, heads, D]; the results share their storages.
 */
void ms_liger_rope(ms_tape *tape, ms_tensor q, ms_tensor k, ms_tensor cos, ms_tensor sin,
                   ms_tensor out[2]);

/* ---- liger loss ---- */

/* Liger's losses (liger-kernel 0.8): head and loss fused, which computes both gradients in
 * forward, chunk by chunk, without logits of all tokens; and the loss of given logits. */

/* Head without bias and loss over hidden states [T, H]; computes the gradients too. A chunk's
 * logits have `share` times the bytes of the hidden states. */
ms_tensor ms_liger_loss(ms_tape *tape, ms_tensor hidden, ms_tensor weight, uint64_t share);
/* The loss of logits [T, V], which their gradient overwrites. */
ms_tensor ms_liger_cross_entropy(ms_tape *tape, ms_tensor logits);

/* ---- liger experts ---- */

/* Liger's mixture of experts (liger-kernel 0.8): all experts, their activation and the sum per
 * token in one function. */

/* All experts of a layer: hidden [T, H], stacked weights gate_up [E, 2F, H] and down [E, H, F], and
 * the weights of each token's experts [T, K]. */
ms_tensor ms_liger_experts(ms_tape *tape, ms_tensor hidden, ms_tensor gate_up, ms_tensor down,
                           ms_tensor weights);

#endif
