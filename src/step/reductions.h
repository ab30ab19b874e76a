/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Reductions: a new tensor, beside the partial results that its kernel makes.
 */
#ifndef MS_STEP_REDUCTIONS_H
#define MS_STEP_REDUCTIONS_H

#include "autograd/tape.h"

/* ---- reductions: a new tensor, beside the partial results that its kernel makes ---- */
ms_tensor ms_reduce_all(ms_tape *tape, ms_tensor a);  /* to a scalar */
ms_tensor ms_reduce_rows(ms_tape *tape, ms_tensor a); /* [M, N] to [M]: over the last dimension */
ms_tensor ms_reduce_columns(ms_tape *tape, ms_tensor a); /* [M, N] to [N] */

#endif
