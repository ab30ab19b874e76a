/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A step of one rank of a pipeline: its schedule's forward and backward passes, with what it
 * receives and sends, and the micro-batches in flight. Sources: PyTorch 2.11's
 * torch/distributed/pipelining/stage.py and schedules.py, as docs/semantics/pipeline.md describes
 * them.
 */
#ifndef MS_RUN_STEP_PIPELINE_PIPELINE_H
#define MS_RUN_STEP_PIPELINE_PIPELINE_H

#include "model/blocks/model.h"

typedef struct ms_pipeline ms_pipeline;

/* Hears where the forward or the backward with this number begins and ends; a micro-batch of a
 * stage has the number of its forward, in order of execution. */
typedef struct ms_pipeline_listener {
    void (*mark)(void *context, bool begin, bool is_forward, uint32_t number);
    void *context;
} ms_pipeline_listener;

/* After the model was built on no device: keeps this rank's stages. In the model's arena; NULL when
 * out of memory (the tape fails). With `copies`, passes that do what earlier ones did are copies of
 * their events; see ms_pipeline_differs. */
ms_pipeline *ms_pipeline_new(ms_model *model, bool copies);
/* Runs a step up to the optimizer; the first one makes the buffers of what is received. */
void ms_pipeline_step(ms_pipeline *pipeline, const ms_pipeline_listener *listener);
/* The tape has failed because a pass did something else than what was to be copied: to be run again
 * without copies. False of NULL. */
bool ms_pipeline_differs(const ms_pipeline *pipeline);

#endif
