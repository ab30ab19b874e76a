/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What a rank of a pipeline has: its stages, and the micro-batches in flight.
 */
#ifndef MS_RUN_STEP_PIPELINE_STATE_H
#define MS_RUN_STEP_PIPELINE_STATE_H

#include "torch/autograd/engine.h"
#include "input/config/run/layout.h"
#include "model/decoder/decoder_stage.h"
#include "run/step/pipeline/copied.h"
#include "run/step/pipeline/pipeline.h"
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

/* The same micro-batch in the rank's other stage, if that follows this one (`next`) or is before
 * it: what it sends stays on the device. NULL otherwise. */
static inline ms_flight *ms_pipeline_neighbour(const ms_pipeline *p,
                                               const ms_pipeline_action *action, bool next)
{
    uint32_t wanted = p->stages[action->stage].index + (next ? 1 : UINT32_MAX);
    for (uint32_t i = 0; i < p->layout->stages; i++)
        if (p->stages[i].index == wanted)
            return &p->flights[i * p->layout->micro_batches + action->micro_batch];
    return NULL;
}

static inline ms_flight *ms_pipeline_flight(const ms_pipeline *p, const ms_pipeline_action *action)
{
    return &p->flights[action->stage * p->layout->micro_batches + action->micro_batch];
}

#endif
