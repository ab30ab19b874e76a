/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A tree of modules with memory and times of each: PyTorch's ModuleInfo as JSON.
 */
#ifndef MS_DECIDE_PLAN_MODULES_GRAPH_H
#define MS_DECIDE_PLAN_MODULES_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/json/value.h"

enum { MS_GRAPH_MAX_MODULES = 131072, MS_GRAPH_MAX_SEGMENTS = 64 };
#define MS_GRAPH_NO_MODULE UINT32_MAX

/* A linear piece of the curve of recomputed run-time share over the discarded fraction. */
typedef struct ms_segment {
    double slope, intercept;
} ms_segment;

typedef struct ms_module {
    const char *fqn;
    uint64_t param_bytes, grad_bytes;
    uint64_t grad_total_bytes; /* all gradients when its backward begins */
    uint64_t saved_bytes;      /* saved by its forward, without input and output */
    uint64_t act_grad_bytes;   /* additional bytes at the peak of its backward */
    uint64_t act_total_bytes;  /* activations of the whole model at the end of its forward */
    double forward_ms, backward_ms;
    bool is_leaf;        /* no part of it can be recomputed separately */
    uint64_t made_bytes; /* outputs of all its operators, at least saved_bytes */
    double operators_ms;
    const ms_segment *segments;
    uint32_t segment_count;
    uint32_t parent;           /* or MS_GRAPH_NO_MODULE */
    uint32_t after;            /* the module after its last descendant */
    uint32_t left;             /* position in the order in which forward leaves modules */
    uint32_t entered_backward; /* position in the order in which backward enters them */
} ms_module;

typedef enum ms_graph_use { MS_GRAPH_FOR_CHECKPOINTS, MS_GRAPH_FOR_SHARDS } ms_graph_use;

/* Modules in the order in which forward enters them. Allocated in the arena. */
typedef struct ms_graph {
    ms_module *modules;
    uint32_t count;
    const uint32_t *by_name; /* indices, sorted by fqn */
    uint32_t raised_count;   /* modules whose made_bytes had to be raised to saved_bytes */
    const char *first_raised;
} ms_graph;

/* Reads the members that the use needs, and checks them: unique names, orders that form one tree,
 * valid numbers. */
ms_status ms_graph_read(ms_arena *arena, ms_json_value root, ms_graph_use use, ms_graph *graph,
                        ms_error *err);

/* The index of a module, or MS_GRAPH_NO_MODULE. */
uint32_t ms_graph_find(const ms_graph *graph, const char *fqn);

#endif
