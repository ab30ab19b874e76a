/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The settings of DeepSpeed's `zero_optimization` that decide memory, under its own names. Sizes
 * are numbers of elements.
 */
#ifndef MS_CONFIG_RUN_ZERO_H
#define MS_CONFIG_RUN_ZERO_H

#include <stdbool.h>
#include <stdint.h>

#include "tensor/dtype.h"

typedef struct ms_zero {
    uint64_t reduce_bucket_size;
    bool overlap_comm;         /* gradients are reduced on a stream of their own */
    bool contiguous_gradients; /* gradients are copied into a bucket */
    bool offloads_optimizer;   /* the optimizer and its partition are on the host */
    bool accumulates_f32;      /* grad_accum_dtype */
    bool has_decay_groups;     /* Trainer's parameters without weight decay are partitioned apart */
    /* stage 3 */
    bool init; /* the model is built under deepspeed.zero.Init, divided from the start */
    ms_dtype packed_dtype; /* of the numbers that hold packed weights */
    bool has_leaf_blocks; /* DeepSpeed knows the class of the blocks of experts: no hooks in them */
    bool offloads_parameters;             /* their shards are on the host */
    uint64_t prefetch_bucket_size;        /* gathered ahead of their use */
    uint64_t max_live_parameters;         /* gathered at a time */
    uint64_t max_reuse_distance;          /* gathered parameters that are used again so soon stay */
    uint64_t param_persistence_threshold; /* smaller parameters stay gathered */
} ms_zero;

#endif
