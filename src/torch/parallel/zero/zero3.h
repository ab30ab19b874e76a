/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * DeepSpeed ZeRO-3 while it runs: every rank has a shard of each parameter; a module's parameters
 * are gathered before it runs, others ahead of their use, and released when no use is near. What
 * comes next is known from a trace of the first pass.
 */
#ifndef MS_PARALLEL_ZERO3_H
#define MS_PARALLEL_ZERO3_H

#include "torch/parallel/zero/zero.h"
#include "torch/parallel/zero/zero3_gather.h"

enum { MS_ZERO3_USERS = 4, MS_ZERO3_DEPTH = 16, MS_ZERO3_TYPES = 2 };

typedef enum ms_zero3_status { MS_ZERO3_AWAY, MS_ZERO3_COMING, MS_ZERO3_HERE } ms_zero3_status;

typedef struct ms_zero3_parameter {
    ms_placed placed;         /* .parameter: into tape->parameters; MS_NONE: it is frozen */
    uint64_t elements, shard; /* of the parameter, and of a rank's shard with its padding */
    ms_dtype dtype;           /* of these */
    bool persists;            /* stays gathered between uses */
    ms_tensor other;      /* with the padding of all shards, or without; 0: there is no padding */
    bool is_padded;       /* the parameter's memory has it now */
    bool is_packed;       /* numbers that hold a weight of bitsandbytes */
    bool is_viewed;       /* the graph has a view of its memory: see ms_zero3_keep */
    ms_tensor held;       /* the memory that a recomputation's saved tensor keeps, or 0 */
    bool is_from_gathers; /* its memory is from the pool of the gathers' stream */
    ms_zero3_status status;
    uint32_t gather;                /* while it comes: into gathers */
    int64_t fetched_for;            /* the last use in the trace that a fetch looked at */
    uint32_t users[MS_ZERO3_USERS]; /* modules that run with it */
    uint32_t user_count;
} ms_zero3_parameter;

/* An all-gather: of one parameter into its own memory, or of several through a flat tensor of each
 * type, which stay until each of them was asked for. */
typedef struct ms_zero3_gather {
    ms_tensor flat[MS_ZERO3_TYPES]; /* of those of the model's type; of bytes of packed weights */
    uint32_t first, count;          /* into gathered */
    uint32_t asked_for;
    uint32_t work[MS_ZERO3_TYPES];
    bool is_done;
} ms_zero3_gather;

typedef struct ms_zero3_use {
    uint32_t parameter;
    int64_t step; /* the module's place in the trace */
} ms_zero3_use;

/* Whether a parameter stays when a module is left at a step: asked once, then remembered. */
typedef struct ms_zero3_decision {
    int64_t step;
    uint32_t module, parameter;
    bool stays;
} ms_zero3_decision;

typedef enum ms_zero3_tracing { MS_ZERO3_IDLE, MS_ZERO3_RECORDS, MS_ZERO3_KNOWS } ms_zero3_tracing;

/* The modules that run, outermost first. */
typedef struct ms_zero3_stack {
    uint32_t modules[MS_ZERO3_DEPTH];
    uint32_t count;
} ms_zero3_stack;

/* Parameters that the optimizer steps at a time: a sub-group of one of its groups. */
typedef struct ms_zero3_group {
    uint32_t first, end; /* in `order` */
    uint64_t elements;   /* of their shards */
    uint32_t master;     /* into tape->parameters */
} ms_zero3_group;

typedef struct ms_zero3 {
    const ms_parallel *parallel;
    bool is_last; /* micro-step of the step */
    ms_dtype dtype;
    ms_vec(ms_zero3_parameter) parameters;    /* in the order of modules, frozen ones too */
    ms_zero_indices row_of;                   /* of each trained parameter: into parameters */
    ms_zero_indices module_first;             /* by scope: its own parameters, */
    ms_zero_indices module_count;             /* which are neighbours */
    ms_zero_indices below_first, below_count; /* by scope: those of the modules in it, too */
    ms_zero_indices leaf_of;  /* by scope: the leaf module that it is or is in, or MS_NONE */
    ms_zero_indices external; /* by scope, of an adapted layer: its lora_A's row, or MS_NONE */
    ms_zero_indices is_known; /* by scope: the layer was seen to use that */
    ms_zero_indices order;    /* the rows of trained parameters, group by group */
    ms_vec(ms_zero3_group) groups;
    uint32_t tied_head; /* a module that uses the embedding's parameter, or MS_NONE */
    uint32_t tied_to;   /* that parameter */
    /* the coordinator of gathers */
    ms_zero3_tracing tracing;
    ms_zero_indices modules;             /* the trace, in the order in which they run */
    ms_vec(ms_zero3_use) uses;           /* of parameters, in that order */
    uint32_t next_use;                   /* that is not fetched yet */
    ms_vec(ms_zero3_decision) decisions; /* of the first pass with a trace, by step */
    int64_t step;
    int64_t available; /* elements gathered in this pass, less those released: after an evaluation
                          what it left is released in a later one */
    ms_vec(ms_zero3_gather) gathers;
    ms_zero_indices gathered;
    ms_zero3_events fetched;         /* of parameters that were waited for */
    ms_vec(ms_zero3_use) attributed; /* frozen ones that a recomputation fetched, to the module
                                        (`step`) that was last in backward then */
    ms_zero3_stack forward, backward;
    ms_zero_tensors kept; /* memory of packed weights, in a recomputation */
    uint32_t calls_again; /* of the tape, when the forward stack moved last */
    bool is_rerun;        /* the forward stack is that of a recomputation */
    /* tensors */
    ms_tensor shards, bucket, gradients, barrier, overflow;
    ms_tensor returned;      /* offload: the gradient that came from the host last */
    ms_zero3_events reduced; /* of buckets */
    uint64_t collected;      /* elements in the bucket */
    ms_zero_indices collected_parameters;
    ms_tensor norm; /* of all gradients; stays until the next step has its own */
    ms_tensor total,
        previous;          /* while the optimizer runs: the norm not yet divided, and the last */
    ms_zero_tensors norms; /* then, of the groups */
    uint32_t group;        /* that the optimizer steps */
    uint32_t gather_stream, reduce_stream;
    uint32_t gather_pool, reduce_pool; /* the operators' without overlap_comm */
} ms_zero3;

static inline bool ms_zero3_is_trained(const ms_zero3 *all, uint32_t row)
{
    return all->parameters.items[row].placed.parameter != MS_NONE;
}

/* The only rank has all of each parameter: gathered, it is a view of its shard. */
static inline bool ms_zero3_views_shards(const ms_zero3 *all)
{
    return all->parallel->layout.shards == 1;
}

/* Elements of the shards of trained parameters. */
uint64_t ms_zero3_trained_elements(const ms_zero3 *all);

/* Modules (zero3_modules.c) are scopes; the whole model and activation functions follow them. */
uint32_t ms_zero3_whole(const ms_zero3 *all);
/* The number of the parameters that a module gathers, its own or that of another which it uses, and
 * of a leaf module all in it; sets the first. */
uint32_t ms_zero3_parameters_of(const ms_zero3 *all, uint32_t module, uint32_t *first);
/* Whether DeepSpeed has no hooks in this module: a block of experts that it knows by its class. */
bool ms_zero3_is_leaf(const ms_zero3 *all, uint32_t module);
/* Parameters of an adapted layer's own: those of its base layer. */
uint32_t ms_zero3_base_in(const ms_zero3 *all, uint32_t scope);
/* The parameters that are in the module of this scope itself. */
uint32_t ms_zero3_own_parameters(const ms_zero3 *all, uint32_t scope, uint32_t *first);
/* Whether the module of this scope is a layer that PEFT adapts. */
bool ms_zero3_is_adapted(const ms_zero3 *all, uint32_t module);
/* A parameter that is read outside the module that has it is gathered at once, by itself. */
void ms_zero3_gather_alone(ms_tape *tape, ms_zero3 *all, uint32_t parameter);

/* Before a parameter gets memory: with the padding of all shards, as when it is gathered by itself,
 * or without, as when it is copied out of a gather of several. */
void ms_zero3_pad(ms_tape *tape, ms_zero3 *all, uint32_t parameter, bool is_padded);

/* The coordinator (zero3_gather.c). */
void ms_zero3_begin_pass(ms_tape *tape, ms_zero3 *all);
void ms_zero3_fetch(ms_tape *tape, ms_zero3 *all, uint32_t module);
void ms_zero3_release(ms_tape *tape, ms_zero3 *all, uint32_t module);
/* What recomputations fetched for this module, which backward leaves. */
void ms_zero3_release_attributed(ms_tape *tape, ms_zero3 *all, uint32_t module);
/* After backward: what no module released. After the step: everything; then what persists comes. */
void ms_zero3_release_leftovers(ms_tape *tape, ms_zero3 *all);
void ms_zero3_release_all(ms_tape *tape, ms_zero3 *all);
void ms_zero3_gather_persistent(ms_tape *tape, ms_zero3 *all);

/* Construction (zero3_build.c). */
void ms_zero3_build(ms_tape *tape, ms_zero3 *all);
void ms_zero3_drop_kept(ms_tape *tape, ms_zero3 *all);

#endif
