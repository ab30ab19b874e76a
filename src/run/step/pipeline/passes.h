/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Forward and backward of one micro-batch through a stage.
 */
#ifndef MS_RUN_STEP_PIPELINE_PASSES_H
#define MS_RUN_STEP_PIPELINE_PASSES_H

#include "run/step/pipeline/state.h"

/* The variable holds on to the value (0: to none) in place of what it held. */
void ms_pipeline_hold(ms_tape *tape, ms_tensor *variable, ms_tensor value);
/* A leaf of the graph, on a received tensor: its parameter number. */
uint32_t ms_pipeline_leaf(ms_tape *tape, ms_tensor received);
void ms_pipeline_forward(ms_pipeline *p, const ms_pipeline_action *action);
void ms_pipeline_backward(ms_pipeline *p, const ms_pipeline_action *action);
/* The same in two parts. The first stage does nothing in the first and all in the second. */
void ms_pipeline_backward_input(ms_pipeline *p, const ms_pipeline_action *action);
void ms_pipeline_backward_weight(ms_pipeline *p, const ms_pipeline_action *action);

#endif
