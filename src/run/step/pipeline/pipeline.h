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
#include "model/decoder/decoder_stage.h"
#include "run/step/pipeline/copied.h"
#include "run/step/pipeline/schedule.h"

/* A micro-batch of a stage. */
typedef struct ms_flight {
    ms_tensor activations, gradients;     /* buffers of what is received; 0: nothing is */
    uint32_t leaf;                        /* the received activations in the graph, or MS_NONE */
    uint32_t number;                      /* of its forward */
    uint32_t forward_turn, backward_turn; /* among those of its stage, from 0 */
    bool is_local;                        /* what it receives is from this rank */
    bool is_copied;                       /* in this step its passes are copies */
    ms_made_parts made;                   /* by its passes */
    ms_tensor output;                     /* from forward to backward */
    ms_tensor loss;                       /* from forward to the end of the step */
    ms_stage_pass pass;
    ms_backward_split split;  /* between both parts of its backward */
    ms_tensor input_gradient; /* then, of what was received; until the next step begins */
} ms_flight;

/* Of each part of a stage's passes, the one that others are copies of. */
typedef struct ms_recorded_stage {
    ms_recorded_pass part[MS_FLIGHT_PARTS];
    uint32_t turns[2]; /* forwards and backwards of the stage in a step */
} ms_recorded_stage;

struct ms_pipeline {
    ms_model *model;
    const ms_pipeline_layout *layout;
    ms_pipeline_stage *stages;
    bool *is_gathered; /* by stage: as the schedule has it, until the step is over */
    ms_pipeline_action *actions;
    ms_flight *flights;  /* by stage, then micro-batch */
    ms_tensor batch;     /* ids of all micro-batches; 0 before the first step */
    ms_tensor output;    /* of the last forward, as a variable of the schedule holds on to it */
    ms_tensor sent;      /* the gradient that was sent last, in the same way */
    uint32_t stream;     /* of what is sent */
    uint32_t first_leaf; /* leaves of this step are parameters from here on */
    bool copies;         /* passes that do what others did are copied */
    bool differs;        /* one did something else than was copied: nothing may be believed */
    bool is_first_step;
    ms_recorded_stage *recorded; /* by stage */
    ms_pass_recorder recorder;
};

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
