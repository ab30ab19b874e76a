/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * fully_shard while it runs: units of parameters that are gathered and reduced together. A unit is
 * a layer; the rest of the model is the root's.
 */
#ifndef MS_TORCH_PARALLEL_FSDP_H
#define MS_TORCH_PARALLEL_FSDP_H

#include "torch/parallel/kit/kinds.h"

typedef struct ms_fsdp_parameter {
    uint32_t index; /* into tape->parameters; MS_NONE: it is frozen */
    uint32_t name, scope;
    ms_dtype dtype;        /* of the shard */
    ms_shape shape;        /* what is divided: of a packed weight a column of numbers */
    ms_tensor full;        /* what the model computes with; has memory while its unit is gathered */
    ms_tensor whole;       /* on the device while a model is moved there from the host; or 0 */
    ms_tensor shard;       /* this rank's rows */
    ms_tensor grad;        /* of the shard, between reduction and optimizer */
    ms_tensor accumulated; /* gradients that were not reduced, in the type of the reduction */
    uint64_t padded;       /* elements of a shard, with the padding of the last rows */
    uint64_t local;        /* elements of this rank's shard */
    ms_tensor spread;      /* between forward and backward: a shard among fewer ranks, or 0 */
    bool redistributes;    /* its gradient, a DTensor, is placed otherwise and made anew */
} ms_fsdp_parameter;

typedef struct ms_fsdp_unit {
    uint32_t first, count; /* into parameters */
    uint32_t scope;        /* the layer, or MS_NONE: the root */
    bool is_unsharded, is_spread;
    ms_tensor gathered;    /* the all-gather's output before it is copied out; 0: none */
    uint32_t gathering;    /* the work that fills it */
    uint32_t reducing;     /* the work that reduces its gradients, or MS_NONE */
    ms_tensor all_reduced; /* HSDP: the input of the all-reduce */
    ms_tensor partial;     /* HSDP: sums among shards alone, of earlier micro-steps */
} ms_fsdp_unit;

/* One call of fully_shard on a model, or on a stage of a pipeline. */
typedef struct ms_fsdp {
    const ms_parallel *parallel;
    ms_pipeline_stage stage; /* all layers and both ends, unless there are several */
    bool is_one_of_several;  /* stages of this rank: gathered ahead, from the operators' pool */
    ms_vec(ms_fsdp_parameter) parameters; /* by unit */
    ms_vec(uint32_t) by_place;            /* the same in the order of modules */
    ms_vec(ms_fsdp_unit) units; /* [the embeddings',] the layers', [the head's,] the root's */
    bool is_initialized;        /* the first forward pads the shards */
    bool reduces;               /* in this micro-step */
    bool is_last;               /* micro-step of the step */
    ms_tensor copied_out;   /* forward: the output that was copied out last (all_gather_state) */
    ms_tensor reduce_input; /* of the last reduce-scatter (reduce_scatter_state) */
    uint32_t reduced;       /* the work that reads it, or MS_NONE */
    bool is_embedding, has_head_begun; /* units of the ends: what runs */
    uint32_t gather_stream, reduce_stream, all_reduce_stream;
} ms_fsdp;

static inline ms_fsdp_unit *ms_fsdp_root(const ms_fsdp *all)
{
    return &all->units.items[all->units.count - 1];
}

static inline ms_fsdp_unit *ms_fsdp_layer(const ms_fsdp *all, uint32_t layer)
{
    return &all->units.items[layer + (all->parallel->has_end_units ? 1 : 0)];
}

/* Makes units of the parameters, and gives each its shard, stage by stage (fsdp_shards.c). */
void ms_fsdp_make_units(ms_tape *tape, ms_fsdp *stages, uint64_t count);
/* Shards of fewer rows than others are copied to padded ones, once; all, or those of a unit. */
void ms_fsdp_pad_shards(ms_tape *tape, ms_fsdp *all);
void ms_fsdp_pad_unit(ms_tape *tape, const ms_fsdp *all, const ms_fsdp_unit *unit);
/* The optimizer sees shards and their gradients, the model whole parameters. */
void ms_fsdp_show_shards(ms_tape *tape, ms_fsdp *all);
void ms_fsdp_show_parameters(ms_tape *tape, ms_fsdp *all);

/* Collectives of a unit (fsdp_collectives.c). `is_forward`: in forward the output is kept until the
 * next unit was copied out. */
void ms_fsdp_unshard(ms_tape *tape, ms_fsdp *all, ms_fsdp_unit *unit);
void ms_fsdp_wait_for_unshard(ms_tape *tape, ms_fsdp *all, ms_fsdp_unit *unit, bool is_forward);
void ms_fsdp_reshard(ms_tape *tape, ms_fsdp *all, ms_fsdp_unit *unit);
/* The same, but the parameters stay, divided among reshard_ranks; backward gathers these. */
void ms_fsdp_spread(ms_tape *tape, ms_fsdp *all, ms_fsdp_unit *unit);
/* What follows a unit's backward: it is resharded, its gradients are reduced or accumulated. */
void ms_fsdp_post_backward(ms_tape *tape, ms_fsdp *all, ms_fsdp_unit *unit);
void ms_fsdp_finalize(ms_tape *tape, ms_fsdp_unit *unit);

#endif
