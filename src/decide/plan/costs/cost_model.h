/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The additive cost model of layers: the memory and time that each treatment of each layer adds to
 * the step. It is measured in simulated steps in which all layers are treated alike; the cost of
 * any mix of treatments is then a sum, in whole bytes. The selected assignment is verified by
 * simulation.
 */
#ifndef MS_DECIDE_PLAN_COSTS_COST_MODEL_H
#define MS_DECIDE_PLAN_COSTS_COST_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "input/config/run/run_config.h"
#include "input/config/treatment/technique.h"
#include "run/measure/profile.h"

enum {
    MS_COST_MOST_OPTIONS = 64,
    MS_COST_TRAINERS_OPTIONS = 8, /* of those, reserved for options that trainers add */
    MS_COST_MOST_LOSSES = 7,
    MS_COST_MICRO_STEPS = 2,
    MS_COST_MOST_COPIES = 64,
    MS_COST_MOST_TURNS = 4, /* micro-steps that a step simulates */
    MS_COST_MOST_STREAMS = 6
};

/* Bytes of a layer under one option, in one of the micro-steps that differ: the first, and the
 * last. Relative to the live bytes when the layer begins. */
typedef struct ms_layer_bytes {
    int64_t forward_peak, forward_end; /* forward_end: what it saves */
    int64_t forward_late;              /* part of forward_end that is freed at the end of forward */
    int64_t input;                     /* of the first layer: its input, if freed before the loss */
    int64_t backward_peak, backward_end; /* backward_end: gradients minus saved bytes */
} ms_layer_bytes;

/* A copy of what a layer saved, to the host in forward, or back from it in backward. */
typedef struct ms_layer_copy {
    double at_ms;   /* when it begins, in forward; when it is waited for, in backward: what the
                       layer has computed by then */
    double copy_ms; /* on the link */
    bool is_alone;  /* it is waited for at once (save_on_cpu); back, it begins only then */
    uint32_t turn;  /* back from the host: among the layer's copies, as they begin */
} ms_layer_copy;

/* What a layer computes and copies in one micro-step. */
typedef struct ms_layer_copies {
    double forward_ms, backward_ms;       /* computing */
    uint32_t send_count, fetch_count;     /* at most MS_COST_MOST_COPIES each */
    const ms_layer_copy *sends, *fetches; /* as they begin; as they are waited for */
    const double *turns_ms; /* of the fetches, as they begin, each one's copy_ms; alone: 0 */
} ms_layer_copies;

/* Work with other ranks in a part of a step: its turns, whose times count from the part's begin,
 * and whose streams are numbered as in ms_collectives. */
typedef struct ms_program {
    const ms_turn *turns;
    uint32_t count;
    double compute_ms; /* of the whole part */
} ms_program;

/* Of a layer, in each micro-step that a step simulates. */
typedef struct ms_layer_programs {
    ms_program forward[MS_COST_MOST_TURNS], backward[MS_COST_MOST_TURNS];
} ms_layer_programs;

/* Of what is outside the layers: before the first, between forward and backward, behind it. */
typedef struct ms_collectives {
    ms_program head[MS_COST_MOST_TURNS], middle[MS_COST_MOST_TURNS], tail[MS_COST_MOST_TURNS];
    uint32_t count; /* micro-steps that a step simulates */
    uint32_t repeats[MS_COST_MOST_TURNS];
    uint32_t streams[MS_COST_MOST_STREAMS], stream_count; /* of the trace */
    double sure_wait_ms; /* per step, outside the layers: waited whatever they do */
    bool is_exact;       /* waits are counted; else only those that are sure */
} ms_collectives;

typedef struct ms_layer_cost {
    ms_layer_bytes bytes[MS_COST_MICRO_STEPS];
    ms_layer_copies copies[MS_COST_MICRO_STEPS];
    uint64_t host_bytes;     /* kept on the host */
    uint64_t sent_bytes;     /* of those, fetched before its backward, in blocks */
    uint64_t released_bytes; /* of those, freed after the next layer's forward; neither is included
                                in `bytes` */
    double ms; /* per step: forward and backward of all micro-steps, including waiting */
    double recompute_ms, exposed_ms; /* parts of ms */
    double steady_exposed_ms; /* exposed copy time among equal layers: copies beyond its compute */
    double forward_flops;     /* of one micro-step */
    const ms_layer_programs *programs; /* of several ranks: these have the waiting, `ms` has none */
    double sure_wait_ms; /* per step, of that: for what begins and is waited for in the layer */
} ms_layer_cost;

typedef struct ms_cost_option {
    ms_treatment treatment;
    ms_layer_cost *layers; /* per layer */
    int64_t fixed_bytes;   /* additional persistent bytes (a library's workspace), counted once for
                              all options that need them */
    int64_t shared_bytes;  /* made before the layers and kept by layers after the first until
                              backward (a mask); counted once */
    bool holds_to_end;     /* shared_bytes are kept until the end of backward */
} ms_cost_option;

/* Costs outside the layers, for one option of the loss. Bytes as if no layer saved anything; the
 * layers' sums are added. */
typedef struct ms_outer_cost {
    uint32_t loss_chunks;                       /* 0: not chunked */
    int64_t fixed_bytes;                        /* as of an option */
    int64_t before_layers[MS_COST_MICRO_STEPS]; /* live when the first layer begins */
    int64_t loss_peak[MS_COST_MICRO_STEPS];     /* highest after the last layer's forward */
    int64_t loss_backward_peak[MS_COST_MICRO_STEPS];
    int64_t before_backward[MS_COST_MICRO_STEPS]; /* live when the last layer's backward begins */
    int64_t after_peak[MS_COST_MICRO_STEPS]; /* highest between the first layer's backward and the
                                                end of the phase */
    uint64_t fixed_peak; /* highest peak that no treatment changes: embedding, clip, optimizer */
    double ms;           /* of everything outside the layers; of several ranks with the waiting that
                            is sure */
} ms_outer_cost;

/* An operator of a layer's recomputation. */
typedef struct ms_recomputed_op {
    const char *name; /* static */
    uint32_t occurrence;
    double ms;
    uint64_t bytes;  /* of its results */
    bool is_random;  /* others draw random numbers after it: never kept */
    bool is_changed; /* it works in place, or others change its results in place: never kept */
} ms_recomputed_op;

enum { MS_MOST_RECOMPUTED_OPS = 256 };

typedef struct ms_op_list {
    ms_arena *arena;
    ms_recomputed_op *items; /* of one middle layer */
    uint32_t count;
} ms_op_list;

enum { MS_OPTION_KEEP, MS_OPTION_CHECKPOINT }; /* exist in every cost model */

typedef struct ms_cost_model {
    uint32_t layer_count, option_count, loss_count;
    ms_cost_option options[MS_COST_MOST_OPTIONS]; /* [0]: keep; [1]: checkpoint */
    ms_outer_cost losses[MS_COST_MOST_LOSSES];    /* [0]: not chunked */
    uint32_t micro_steps;                         /* micro-steps that differ: 1 or 2 */
    uint32_t repeats[MS_COST_MICRO_STEPS];        /* how often each runs in a step */
    bool has_exact_waits;        /* no other copies use the links: `copies` describes all of them */
    ms_collectives *collectives; /* NULL: one rank */
    const uint32_t *segments;    /* first layer of each segment of layers that are equal under all
                                    options; segments[segment_count] = layer_count */
    uint32_t segment_count;
    ms_op_list ops;
    uint32_t simulations; /* number that was needed to fill it */
} ms_cost_model;

/* An assignment: an option for each layer, and one for the loss. */
typedef struct ms_assignment {
    uint32_t *options; /* per layer */
    uint32_t loss;
} ms_assignment;

typedef struct ms_cost_sum {
    uint64_t peak_bytes;  /* live, as requested and rounded to blocks */
    uint64_t level_bytes; /* the highest level that treatments affect, at most peak_bytes */
    uint64_t loss_bytes;  /* the highest level of the loss */
    double step_ms;
    double exposed_ms; /* of that: waiting for copies of layers */
    uint64_t host_bytes;
} ms_cost_sum;

ms_cost_sum ms_assignment_sum(const ms_cost_model *costs, const ms_assignment *assignment);
/* Its levels; no times, and nothing of the host. */
ms_cost_sum ms_assignment_bytes(const ms_cost_model *costs, const ms_assignment *assignment);

/* What an assignment must not exceed. */
typedef struct ms_cost_limits {
    uint64_t peak_bytes, level_bytes, loss_bytes;
    double step_ms;
} ms_cost_limits;

/* The same, if it is within the limits; else step_ms is INFINITY, and the rest may be 0. */
ms_cost_sum ms_assignment_sum_within(const ms_cost_model *costs, const ms_assignment *assignment,
                                     const ms_cost_limits *limits);

/* Bytes of a layer that stay on the device after forward, without offloaded ones. */
int64_t ms_layer_saved(const ms_layer_cost *cost, uint32_t m);

/* Copies an assignment into the arena. */
ms_status ms_assignment_copy(ms_arena *arena, const ms_cost_model *costs, const ms_assignment *from,
                             ms_assignment *to, ms_error *err);

/* Gives all layers one option. */
void ms_assignment_fill(const ms_cost_model *costs, uint32_t option, ms_assignment *assignment);

/* Converts an assignment to treatments; layers in the arena. */
ms_status ms_assignment_treatments(ms_arena *arena, const ms_cost_model *costs,
                                   const ms_assignment *assignment, ms_treatments *treatments,
                                   ms_error *err);

#endif
