/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A tree of modules with what each keeps, needs and takes: PyTorch's ModuleInfo as JSON.
 */
#ifndef MS_PLAN_MODULES_GRAPH_H
#define MS_PLAN_MODULES_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "json/value.h"

enum { MS_GRAPH_MAX_MODULES = 8192, MS_GRAPH_MAX_SEGMENTS = 64 };
#define MS_GRAPH_NO_MODULE UINT32_MAX

/* A piece of the curve from the discarded fraction to the recomputed share of the run time. */
typedef struct ms_segment {
    double slope, intercept;
} ms_segment;

typedef struct ms_module {
    const char *fqn;
    uint64_t param_bytes, grad_bytes;
    uint64_t grad_total_bytes; /* gradients there are when its backward begins */
    uint64_t saved_bytes;      /* its forward keeps, without input and output */
    uint64_t act_grad_bytes;   /* more at the peak of its backward */
    uint64_t act_total_bytes;  /* of the whole model, up to the end of its forward */
    double forward_ms, backward_ms;
    bool is_leaf;        /* nothing in it can be recomputed on its own */
    uint64_t made_bytes; /* outputs of all its operators: at least saved_bytes */
    double operators_ms;
    const ms_segment *segments;
    uint32_t segment_count;
    uint32_t parent;           /* or MS_GRAPH_NO_MODULE */
    uint32_t after;            /* the module after its last descendant */
    uint32_t left;             /* position in the order in which forward leaves modules */
    uint32_t entered_backward; /* position in the order in which backward enters them */
} ms_module;

typedef enum ms_graph_use { MS_GRAPH_FOR_CHECKPOINTS, MS_GRAPH_FOR_SHARDS } ms_graph_use;

/* Modules in the order in which forward enters them. Lives in the arena. */
typedef struct ms_graph {
    ms_module *modules;
    uint32_t count;
    const uint32_t *by_name; /* indices, sorted by fqn */
    uint32_t raised_count;   /* modules whose made_bytes was less than saved_bytes, and raised */
    const char *first_raised;
} ms_graph;

/* Reads what the use needs, and checks it: names once each, orders that fit one tree, figures that
 * are figures. */
ms_status ms_graph_read(ms_arena *arena, ms_json_value root, ms_graph_use use, ms_graph *graph,
                        ms_error *err);

/* The index of a module, or MS_GRAPH_NO_MODULE. */
uint32_t ms_graph_find(const ms_graph *graph, const char *fqn);

#endif
