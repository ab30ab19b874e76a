/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The state of checkpoints, shared by full and selective checkpointing.
 */
#ifndef MS_TORCH_TREATMENTS_FRAMES_H
#define MS_TORCH_TREATMENTS_FRAMES_H

#include "torch/treatments/recompute.h"

/* One activation checkpoint. */
typedef struct ms_stored_weights {
    ms_region_fn region;
    void *context;
    uint64_t number;
    ms_tensor input; /* kept until the last saved tensor is dropped; 0 when offloaded */
    ms_tensor held[MS_MAX_KEPT_ARGUMENTS]; /* other arguments of the region, kept as long */
    bool saves_held;                       /* they are saved like the input */
    ms_tensor positional;                  /* a second positional argument, saved like the input */
    ms_shared_arguments *shared;           /* that the region got; NULL: none */
    ms_tensor *positional_at;              /* from where the region reads it */
    uint32_t input_slot, positional_slot;  /* for ms_offload_unpack, or MS_NONE */
    ms_tensor random_state;                /* of the CPU, if that is the device */
    uint32_t scope;
    uint32_t holder_count;           /* number of saved tensors of the region */
    uint32_t live_holders;           /* and one while the region runs */
    uint32_t first_dead, dead_count; /* into dead: holders that went with their graph in forward */
    uint32_t first_recomputed;       /* into recomputed, holder_count entries, once recomputed */
    uint32_t recomputed_count;
    uint32_t first_node; /* of the recomputation's graph */
    bool is_recomputed;
    const ms_kept_op *kept_ops; /* selective: operators whose results are kept */
    uint32_t kept_op_count;
    uint32_t first_kept, kept_count; /* into kept: storages kept since forward */
    uint32_t taken_count;            /* of those, already consumed by recomputation */
} ms_stored_weights;

/* Number of executions of an operator in a region or a layer. */
typedef struct ms_op_count {
    const char *name;
    uint32_t count;
} ms_op_count;

typedef ms_vec(ms_op_count) ms_op_counts;

typedef struct ms_checkpoints {
    ms_checkpoint_kind kind;
    ms_vec(ms_stored_weights) rows;
    ms_vec(ms_tensor) recomputed;
    ms_vec(uint32_t) dead; /* holders, see ms_stored_weights */
    /* For selective checkpoints: */
    ms_vec(uint32_t) kept;  /* storages, see ms_stored_weights */
    ms_op_counts op_counts; /* of the running region */
    bool is_kept;           /* an operator whose results are kept is running */
    uint32_t first_storage; /* of that operator */
} ms_checkpoints;

#endif
