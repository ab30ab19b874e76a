/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * FullyShardedDataParallel (FSDP1) while it runs: the parameters of a unit are views of one flat
 * parameter, of which each rank holds an equal part. A unit is a layer; the rest of the model is
 * the root's.
 */
#ifndef MS_TORCH_PARALLEL_FSDP1_H
#define MS_TORCH_PARALLEL_FSDP1_H

#include "torch/parallel/kit/kinds.h"

typedef struct ms_fsdp1_parameter {
    uint32_t index;     /* into tape->parameters */
    ms_tensor full;     /* what the model computes with: a view of the gathered flat parameter */
    ms_tensor original; /* the whole parameter on the device, while its unit is made */
    ms_tensor shard;    /* a view of what this rank's part has of it; may be of no elements */
    uint64_t elements;  /* of the parameter */
    uint64_t padding;   /* elements before it, which align it */
    uint64_t first;     /* element of the flat parameter */
    uint64_t in_shard;  /* elements in this rank's part */
} ms_fsdp1_parameter;

typedef struct ms_fsdp1_unit {
    uint32_t first, count; /* into parameters */
    uint32_t scope;        /* the layer, or MS_NONE: the root */
    uint64_t elements;     /* of the flat parameter, with the padding that aligns parameters */
    uint64_t end_padding;  /* part of `elements`: the last ones, which make the parts equal */
    uint64_t part;         /* elements of each rank's part */
    ms_tensor gathered;    /* the flat parameter; has memory while the unit is gathered */
    ms_tensor shard;       /* this rank's part, in the shards' type */
    ms_tensor loaded;     /* the part in the type it was loaded in, up to the first forward; or 0 */
    ms_tensor grad;       /* of the flat parameter, as long as it is not reduced */
    ms_tensor shard_grad; /* of the part */
    bool is_unsharded;
    bool is_prefetched; /* it was gathered ahead of its forward or backward, which has not ended */
    bool is_ahead;      /* it was gathered ahead of its forward: see post_backward */
    bool has_begun;     /* its backward */
    bool has_kept;      /* a gradient of an earlier micro-step that was not reduced */
} ms_fsdp1_unit;

typedef struct ms_fsdp1 {
    const ms_parallel *parallel;
    ms_vec(ms_fsdp1_parameter) parameters; /* by unit */
    ms_vec(ms_fsdp1_unit) units;           /* the layers', then the root's */
    bool is_initialized;                   /* the first forward has begun */
    bool has_finished_pass;                /* the order of units is known from the first one on */
    bool are_shards_shown;                 /* the optimizer has seen the gradients of the parts */
    bool reduces;                          /* in this micro-step */
    bool is_last;                          /* micro-step of the step */
    ms_fsdp1_unit *late; /* its backward has run, but not that of its split; NULL: none */
    ms_tensor zero;      /* a scalar that clipping makes once */
    /* of the host's events, which follow the freeing of a flat parameter, the oldest that nobody
     * waited for */
    uint32_t first_free;
    uint32_t cast_stream, gather_stream, reduce_stream, all_reduce_stream;
} ms_fsdp1;

static inline ms_fsdp1_unit *ms_fsdp1_root(const ms_fsdp1 *all)
{
    return &all->units.items[all->units.count - 1];
}

static inline ms_fsdp1_parameter *ms_fsdp1_parameter_of(const ms_fsdp1 *all,
                                                        const ms_fsdp1_unit *unit, uint32_t i)
{
    return &all->parameters.items[unit->first + i];
}

/* A buffer of the unit in the pool of `stream`. */
ms_tensor ms_fsdp1_buffer(ms_tape *tape, const ms_fsdp1_unit *unit, uint64_t elements,
                          ms_dtype dtype, uint32_t stream);

/* Collectives of a unit (fsdp1_collectives.c). */
void ms_fsdp1_unshard(ms_tape *tape, ms_fsdp1 *all, ms_fsdp1_unit *unit);
/* `stream` frees it: in forward that of the operators, in backward that of the all-gathers. */
void ms_fsdp1_reshard(ms_tape *tape, ms_fsdp1 *all, ms_fsdp1_unit *unit, uint32_t stream);
/* The flat gradient of a unit whose backward has run; false: there is none. */
bool ms_fsdp1_flatten_gradients(ms_tape *tape, ms_fsdp1 *all, ms_fsdp1_unit *unit);
void ms_fsdp1_reduce(ms_tape *tape, ms_fsdp1 *all, ms_fsdp1_unit *unit);
/* The gradient stays whole until a later micro-step. */
void ms_fsdp1_keep_gradient(ms_tape *tape, ms_fsdp1 *all, ms_fsdp1_unit *unit);

#endif
