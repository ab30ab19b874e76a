/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The operators that Liger's kernels stand for. Conventions are those of ops.h.
 */
#ifndef MS_OPS_LIGER_H
#define MS_OPS_LIGER_H

#include "ops/ops.h"

ms_tensor ms_liger_rms_norm(ms_tape *tape, ms_tensor x, ms_tensor weight);
/* silu(gate) * up */
ms_tensor ms_liger_swiglu(ms_tape *tape, ms_tensor gate, ms_tensor up);
/* q, k: [B, heads, S, D] over [B, S, heads, D]; the results share their storages. */
void ms_liger_rope(ms_tape *tape, ms_tensor q, ms_tensor k, ms_tensor cos, ms_tensor sin,
                   ms_tensor out[2]);
/* The loss of a head without bias over hidden states [T, H]: its gradients are made here too. */
ms_tensor ms_liger_loss(ms_tape *tape, ms_tensor hidden, ms_tensor weight);

#endif
