/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Products with weights that Marlin's kernel has packed.
 */
#ifndef MS_TORCH_OPS_QUANTIZED_MARLIN_H
#define MS_TORCH_OPS_QUANTIZED_MARLIN_H

#include "torch/autograd/tape.h"

/* x [.., K] times a packed weight of `columns` columns: [.., columns], without a gradient; with
 * `sorts_inputs` the columns of x are put in the order of the weight first. Consumes x. */
ms_tensor ms_matmul_marlin(ms_tape *tape, ms_tensor x, ms_dim columns, bool sorts_inputs);

#endif
