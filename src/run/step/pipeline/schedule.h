/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What one rank of a pipeline computes in a step, in order. Source: the schedules of PyTorch 2.11's
 * torch/distributed/pipelining/schedules.py.
 */
#ifndef MS_RUN_STEP_PIPELINE_SCHEDULE_H
#define MS_RUN_STEP_PIPELINE_SCHEDULE_H

#include "input/config/run/layout.h"

typedef enum ms_pipeline_pass {
    MS_PIPELINE_BACKWARD, /* all of it */
    MS_PIPELINE_FORWARD,
    MS_PIPELINE_INPUT, /* backward in two parts: gradients of what the stage received */
    MS_PIPELINE_WEIGHT /* and of its parameters */
} ms_pipeline_pass;

typedef struct ms_pipeline_action {
    ms_pipeline_pass pass;
    uint32_t stage; /* among this rank's, from 0 */
    uint32_t micro_batch;
} ms_pipeline_action;

/* Forward and backward of each stage and micro-batch, or both parts of its backward. */
static inline uint64_t ms_pipeline_action_count(const ms_pipeline_layout *pipeline)
{
    uint64_t passes = ms_pipeline_traits_of(pipeline->kind)->is_split ? 3 : 2;
    return passes * pipeline->stages * pipeline->micro_batches;
}

/* Fills so many actions. The numbers of the layout must be set. */
void ms_pipeline_schedule(const ms_pipeline_layout *pipeline, uint64_t rank,
                          ms_pipeline_action *actions);

#endif
