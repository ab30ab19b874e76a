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

#endif
