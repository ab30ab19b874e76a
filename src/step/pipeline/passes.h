/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Forward and backward of one micro-batch through a stage.
 */
#ifndef MS_STEP_PIPELINE_PASSES_H
#define MS_STEP_PIPELINE_PASSES_H

#include "step/pipeline/state.h"

/* The variable holds on to the value (0: to none) in place of what it held. */
void ms_pipeline_hold(ms_tape *tape, ms_tensor *variable, ms_tensor value);
void ms_pipeline_forward(ms_pipeline *p, const ms_pipeline_action *action);
void ms_pipeline_backward(ms_pipeline *p, const ms_pipeline_action *action);

#endif
