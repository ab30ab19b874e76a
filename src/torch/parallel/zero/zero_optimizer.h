/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * ZeroRedundancyOptimizer: every rank updates some of the parameters, and has states for these
 * alone.
 */
#ifndef MS_PARALLEL_ZERO_OPTIMIZER_H
#define MS_PARALLEL_ZERO_OPTIMIZER_H

#include "torch/parallel/kit/kinds.h"

/* Assigns whole parameters to ranks when the optimizer is made; they become views of one buffer for
 * each rank if the layout says so. */
void ms_zero_optimizer_build(ms_tape *tape);
/* This rank's parameters in the order of its optimizer; NULL: it has all. */
const uint32_t *ms_zero_optimizer_parameters(const ms_tape *tape, uint32_t *count);

#endif
