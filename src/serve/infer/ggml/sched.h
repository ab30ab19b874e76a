/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Which device runs each operator of a graph, by the rules of ggml's scheduler: where the weights
 * are, or the device that takes large products of weights on the host; what has no weights goes
 * with its neighbours. Runs of operators on one device are splits; what a split reads from another
 * place is copied before it begins. The result is the order in which ggml's allocator places and
 * releases tensors.
 */
#ifndef MS_SERVE_INFER_GGML_SCHED_H
#define MS_SERVE_INFER_GGML_SCHED_H

#include "serve/infer/ggml/graph.h"

enum { MS_SCHED_PIPELINE_COPIES = 4, MS_SCHED_OFFLOAD_ROWS = 32 };

typedef struct ms_sched_settings {
    uint32_t devices; /* the host comes after them */
    bool offloads;    /* operators of many rows, whose weights are on the host */
    bool pipelines;   /* several batches are under way: their inputs are kept apart */
} ms_sched_settings;

/* An operator, or (tensor MS_GRAPH_NONE) the end of what `kept` has to outlive. */
typedef struct ms_sched_step {
    uint32_t tensor;
    uint32_t device; /* `devices`: the host */
    uint32_t first_kept, kept;
} ms_sched_step;

typedef struct ms_schedule {
    ms_sched_settings settings;
    ms_vec(ms_sched_step) leaves; /* placed first */
    ms_vec(ms_sched_step) steps;
    ms_vec(uint32_t) kept;
    uint32_t splits;
} ms_schedule;

/* Adds copies to the graph, which the sources of the operators then name. */
ms_status ms_sched_make(ms_graph *g, const ms_sched_settings *settings, ms_schedule *schedule,
                        ms_error *err);
void ms_sched_free(ms_schedule *schedule);

#endif
