/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What one rank of a pipeline computes in a step, in order. Source: the schedules of PyTorch 2.11's
 * torch/distributed/pipelining/schedules.py.
 */
#ifndef MS_STEP_PIPELINE_SCHEDULE_H
#define MS_STEP_PIPELINE_SCHEDULE_H

#include "config/run/pipeline.h"

typedef struct ms_pipeline_action {
    bool is_forward;
    uint32_t stage; /* among this rank's, from 0 */
    uint32_t micro_batch;
} ms_pipeline_action;

/* Forward and backward of each stage and micro-batch. */
static inline uint64_t ms_pipeline_action_count(const ms_pipeline_layout *pipeline)
{
    return 2 * pipeline->stages * pipeline->micro_batches;
}

/* Fills so many actions. The layout's kind must be predicted, its numbers must be set. */
void ms_pipeline_schedule(const ms_pipeline_layout *pipeline, uint64_t rank,
                          ms_pipeline_action *actions);

#endif
