/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Optimizers on the host of a GPU.
 */
#ifndef MS_RUN_STEP_OPTIMIZER_HOST_H
#define MS_RUN_STEP_OPTIMIZER_HOST_H

#include "run/step/optimizers/optimizer_row.h"

/* ---- step and memory ---- */
void ms_optimizer_step_on_host(ms_tape *tape, const ms_optimizer_row *row);
uint64_t ms_optimizer_bytes_on_host(ms_tape *tape, const ms_optimizer_row *row);

#endif
