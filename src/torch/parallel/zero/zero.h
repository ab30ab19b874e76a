/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * DeepSpeed ZeRO, stages 1 and 2, while it runs: the parameters of each of the optimizer's groups
 * are views of one flat tensor; every rank updates one part of it, of which it keeps an fp32 copy.
 * Gradients of all groups are reduced in the same buckets.
 */
#ifndef MS_PARALLEL_ZERO_H
#define MS_PARALLEL_ZERO_H

#include "input/config/run/layout.h"
#include "torch/autograd/tape.h"
#include "torch/parallel/kit/kinds.h"

/* ---- zero optimizer ---- */

/* ZeroRedundancyOptimizer: every rank updates some of the parameters, and has states for these
 * alone. */

/* Assigns whole parameters to ranks when the optimizer is made; they become views of one buffer for
 * each rank if the layout says so. */
void ms_zero_optimizer_build(ms_tape *tape);
/* This rank's parameters in the order of its optimizer; NULL: it has all. */
const uint32_t *ms_zero_optimizer_parameters(const ms_tape *tape, uint32_t *count);

/* ---- zero groups ---- */

/* transformers' Trainer gives its optimizer two groups of parameters, with and without weight
 * decay. ZeRO partitions each group apart. */

enum { MS_ZERO_MOST_GROUPS = 2 };

/* The group of the parameter `index` of the tape: 0 with weight decay, 1 without, as
 * Trainer.get_decay_parameter_names of transformers 5.23 (trainer.py) has them. Without decay
 * groups all are in group 0. */
uint32_t ms_zero_group_number(const ms_tape *tape, const ms_zero *zero, uint32_t index);

typedef ms_vec(ms_tensor) ms_zero_tensors;
typedef ms_vec(uint32_t) ms_zero_indices;

/* Where a parameter lies in the flat tensor of its group, in elements. */
typedef struct ms_zero_place {
    uint32_t group;
    uint64_t first, elements;
    bool is_ours; /* a part of it is in this rank's partition */
} ms_zero_place;

/* Parameters that the optimizer has in one group. */
typedef struct ms_zero_group {
    uint32_t first, end;  /* in `order` */
    ms_tensor flat;       /* all of them, padded so that partitions are equal */
    uint64_t partition;   /* elements of a partition */
    uint32_t master;      /* into tape->parameters: the fp32 partition */
    ms_tensor wide;       /* grad_accum_dtype fp32: the partition's gradient, from the first on */
    ms_zero_tensors kept; /* its gradients, views of `ours`; summed over micro-steps */
    ms_zero_tensors averaged; /* the pieces of the partition's gradient */
} ms_zero_group;

typedef struct ms_zero12 {
    const ms_parallel *parallel;
    bool is_last;                 /* micro-step of the step */
    ms_dtype dtype;               /* of the parameters and their gradients */
    ms_vec(ms_zero_place) places; /* by parameter */
    ms_zero_indices order;        /* the parameters, group by group */
    ms_vec(ms_zero_group) groups;
    uint32_t group; /* that the optimizer steps */
    bool has_buffers;
    ms_tensor buffers[2];     /* where gradients are collected; the second one with overlap_comm */
    uint32_t current;         /* the buffer that is being filled */
    uint64_t collected;       /* elements in the bucket */
    ms_zero_indices bucket;   /* its parameters */
    bool is_oversized;        /* its only parameter is larger than a buffer */
    ms_tensor ours;           /* reduced gradients of the parameters of this rank's partitions */
    ms_vec(uint64_t) widened; /* elements of the pieces that are added to `wide` next */
    ms_tensor staging;        /* offload: as large as the largest parameter */
    ms_zero_tensors norms;    /* offload: of the gradients that went to the host */
    ms_tensor norm;           /* of all gradients; stays until the next step has its own */
    ms_tensor total,
        previous;    /* while the optimizer runs: the norm not yet divided, and the last */
    uint32_t stream; /* of reductions */
} ms_zero12;

/* The pool of tensors of reductions: that of their stream with overlap_comm. */
static inline uint32_t ms_zero_pool(const ms_zero12 *all)
{
    return all->parallel->zero.overlap_comm ? all->stream : MS_STREAM_OPERATORS;
}
/* The group of a parameter. */
static inline ms_zero_group *ms_zero_group_of(const ms_zero12 *all, uint32_t parameter)
{
    return &all->groups.items[all->places.items[parameter].group];
}
/* Elements of this rank's partitions of all groups. */
static inline uint64_t ms_zero_partitions(const ms_zero12 *all)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < all->groups.count; i++)
        sum += all->groups.items[i].partition;
    return sum;
}

/* Offload of the optimizer (zero_offload.c): its buffer; a gradient of the partition goes to the
 * host; the update there. */
void ms_zero_offload_build(ms_tape *tape, ms_zero12 *all);
void ms_zero_offload_gradient(ms_tape *tape, ms_zero12 *all, uint32_t parameter);
void ms_zero_offload_update(ms_tape *tape, ms_zero12 *all);
uint64_t ms_zero_offload_host_bytes(const ms_zero12 *all, uint64_t states);

/* What precedes and follows the optimizer (zero_step.c); true: it steps another group. */
void ms_zero_prepare_update(ms_tape *tape, ms_zero12 *all);
bool ms_zero_finish_update(ms_tape *tape, ms_zero12 *all);

/* ---- shared with stage 3 (zero_norm.c) ---- */

/* torch.linalg.vector_norm(gradient.to(float64)), retained. */
ms_tensor ms_zero_norm_of(ms_tape *tape, ms_tensor gradient);
/* The norms of gradients, computed in fp64, one after the other; returns the global one, retained.
 */
ms_tensor ms_zero_norm(ms_tape *tape, const ms_zero_tensors *gradients);
/* Adds the fp32 partition as a parameter without a gradient, which the optimizer steps. */
uint32_t ms_zero_add_master(ms_tape *tape, ms_tensor master);
/* Drops the first tensors of a list, then empties it. */
void ms_zero_drop(ms_tape *tape, ms_zero_tensors *list);
/* A retained tensor of one dimension. */
ms_tensor ms_zero_vector(ms_tape *tape, uint64_t elements, ms_dtype dtype, const char *name,
                         ms_category category);
/* A retained view of one dimension of `elements` of a tensor. */
ms_tensor ms_zero_narrow(ms_tape *tape, ms_tensor base, uint64_t elements);

#endif
