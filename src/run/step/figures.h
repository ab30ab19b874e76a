/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Static figures of a simulation, read from the tape while it runs.
 */
#ifndef MS_RUN_STEP_FIGURES_H
#define MS_RUN_STEP_FIGURES_H

#include "run/step/step.h"
#include "torch/autograd/tape.h"

/* Counts parameters, and sums the bytes of those kept on the host. */
void ms_figures_count_parameters(ms_tape *tape, ms_simulation *simulation);
/* Sums weights and buffers on the device; the first step may have cast some. */
void ms_figures_sum(ms_tape *tape, ms_simulation *simulation);
/* Sums gradients on the device: of parameters that stay there and that the loss reaches, unless
 * they are consumed during backward. */
void ms_figures_sum_gradients(ms_tape *tape, ms_simulation *simulation);
/* Counts trained parameters without a gradient after a step. */
void ms_figures_find_unreached(ms_tape *tape, ms_simulation *simulation);
/* Sums unique storages that the graph keeps; a checkpointed layer keeps its input. */
void ms_figures_sum_saved(ms_tape *tape, ms_simulation *simulation);

#endif
