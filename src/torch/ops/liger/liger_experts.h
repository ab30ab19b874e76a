/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Liger's mixture of experts (liger-kernel 0.8): all experts, their activation and the sum per
 * token in one function.
 */
#ifndef MS_TORCH_OPS_LIGER_LIGER_EXPERTS_H
#define MS_TORCH_OPS_LIGER_LIGER_EXPERTS_H

#include "torch/ops/liger/liger.h"

/* All experts of a layer: hidden [T, H], stacked weights gate_up [E, 2F, H] and down [E, H, F], and
 * the weights of each token's experts [T, K]. */
ms_tensor ms_liger_experts(ms_tape *tape, ms_tensor hidden, ms_tensor gate_up, ms_tensor down,
                           ms_tensor weights);

#endif
