/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The run that a tape simulates, for functions that get only the tape: optimizers, clipping,
 * figures.
 */
#ifndef MS_STEP_RUN_H
#define MS_STEP_RUN_H

#include "autograd/tape.h"
#include "config/run/run_config.h"

/* The caller owns the run; false when out of memory. */
bool ms_step_set_run(ms_tape *tape, const ms_run_config *run);
const ms_run_config *ms_step_run(const ms_tape *tape);

#endif
