/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What a simulation has on the device while it runs, read from the tape.
 */
#ifndef MS_STEP_FIGURES_H
#define MS_STEP_FIGURES_H

#include "step/step.h"
#include "autograd/tape.h"

/* Parameters by number, and those that the host keeps in bytes. */
void ms_figures_count_parameters(ms_tape *tape, ms_simulation *simulation);
/* The part of the model on the device; a first step may have cast some of it. */
void ms_figures_sum(ms_tape *tape, ms_simulation *simulation);
/* On the device: of parameters that stay there and that the loss reaches, unless backward uses them
 * up. */
void ms_figures_sum_gradients(ms_tape *tape, ms_simulation *simulation);
/* Unique storages the graph holds; a checkpointed layer holds its input. */
void ms_figures_sum_saved(ms_tape *tape, ms_simulation *simulation);

#endif
