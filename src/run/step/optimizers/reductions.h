/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Reductions. Each allocates its result and its kernel's partial results.
 */
#ifndef MS_RUN_STEP_OPTIMIZERS_REDUCTIONS_H
#define MS_RUN_STEP_OPTIMIZERS_REDUCTIONS_H

#include "torch/autograd/tape.h"

/* ---- sums ---- */
ms_tensor ms_reduce_all(ms_tape *tape, ms_tensor a);  /* to a scalar */
ms_tensor ms_reduce_rows(ms_tape *tape, ms_tensor a); /* [M, N] to [M]: over the last dimension */
ms_tensor ms_reduce_columns(ms_tape *tape, ms_tensor a); /* [M, N] to [N] */

#endif
