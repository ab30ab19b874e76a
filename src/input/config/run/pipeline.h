/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Pipeline parallelism: the layers of a model are divided among ranks, and a step is made of
 * micro-batches. The part of the layout that says how, and what each rank has.
 */
#ifndef MS_INPUT_CONFIG_RUN_PIPELINE_H
#define MS_INPUT_CONFIG_RUN_PIPELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"

/* The classes of torch.distributed.pipelining. */
typedef enum ms_pipeline_kind {
    MS_PIPELINE_1F1B,           /* Schedule1F1B */
    MS_PIPELINE_GPIPE,          /* ScheduleGPipe */
    MS_PIPELINE_INTERLEAVED,    /* ScheduleInterleaved1F1B */
    MS_PIPELINE_LOOPED_BFS,     /* ScheduleLoopedBFS */
    MS_PIPELINE_INTERLEAVED_ZB, /* ScheduleInterleavedZeroBubble */
    MS_PIPELINE_ZBV,            /* ScheduleZBVZeroBubble */
    MS_PIPELINE_KINDS
} ms_pipeline_kind;

/* What is particular to a schedule. Each also has a row in run/step/pipeline/schedule.c: its order.
 */
typedef struct ms_pipeline_traits {
    const char *name; /* of schedule=NAME */
    bool has_stages;  /* several on each rank; else one */
    bool is_same;     /* all ranks run the same passes in the same order */
    bool is_split;    /* backward in two parts: of inputs, then of weights */
    bool is_v_shaped; /* two stages on each rank, the second of which count down */
} ms_pipeline_traits;

const ms_pipeline_traits *ms_pipeline_traits_of(ms_pipeline_kind kind);

enum { MS_PIPELINE_MOST = 4096 }; /* ranks, stages of each, micro-batches */

/* Zeroed: no pipeline. */
typedef struct ms_pipeline_layout {
    uint64_t ranks;         /* that follow each other; 0: no pipeline */
    uint64_t stages;        /* of each rank; 0: not given */
    uint64_t micro_batches; /* of a step; 0: not given */
    ms_pipeline_kind kind;
    bool has_kind; /* it was given */
} ms_pipeline_layout;

/* One stage of the model: layers from `first` up to, without, `end`. */
typedef struct ms_pipeline_stage {
    uint32_t index;
    uint64_t first, end;
    bool is_first; /* it has the embedding */
    bool is_last;  /* it has the norm, the head and the loss */
} ms_pipeline_stage;

/* Reads one part of a layout, "key=value", if its key is of a pipeline: *is_known. False: the value
 * is no value of that key, or the key was there before. */
bool ms_pipeline_read(const char *part, size_t length, ms_pipeline_layout *pipeline,
                      bool *is_known);
/* Whether a number of a pipeline in the text of a layout is above MS_PIPELINE_MOST. */
bool ms_pipeline_is_too_large(const char *layout);
/* The text of these parts, in the arena; NULL when out of memory. */
const char *ms_pipeline_text(ms_arena *arena, const ms_pipeline_layout *pipeline);

/* The stage with this number among those of one rank of the pipeline, from 0, in a model of so many
 * layers: stage s of n has the layers from layers*s/n, as whole numbers. */
ms_pipeline_stage ms_pipeline_stage_of(const ms_pipeline_layout *pipeline, uint64_t rank,
                                       uint64_t number, uint64_t layers);

#endif
