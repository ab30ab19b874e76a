/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Ranks that train together, and how they share the work.
 */
#ifndef MS_INPUT_CONFIG_RUN_LAYOUT_H
#define MS_INPUT_CONFIG_RUN_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "core/tensor/dtype.h"

/* The settings of DeepSpeed's `zero_optimization` that decide memory, under its own names. Sizes
 * are numbers of elements. */
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

typedef enum ms_parallel_kind {
    MS_PARALLEL_NONE,  /* one rank */
    MS_PARALLEL_DDP,   /* DistributedDataParallel: every rank holds the model */
    MS_PARALLEL_FSDP2, /* fully_shard: every rank holds a shard of each parameter */
    MS_PARALLEL_FSDP1, /* FullyShardedDataParallel: of flat parameters */
    MS_PARALLEL_TP,    /* tensor parallelism without shards: ranks share each layer's products */
    MS_PARALLEL_ZERO,  /* DeepSpeed ZeRO: every rank updates a part of the flattened parameters */
    MS_PARALLEL_PP     /* pipeline parallelism alone: ranks have different layers */
} ms_parallel_kind;

/* When FullyShardedDataParallel gathers the unit that backward needs next. */
typedef enum ms_prefetch {
    MS_PREFETCH_PRE,  /* before this unit's backward */
    MS_PREFETCH_POST, /* after it, before its gradients are reduced */
    MS_PREFETCH_NONE  /* when backward gets there */
} ms_prefetch;

extern const char *const ms_prefetch_names[];

/* What fully_shard is called with: layers and the root, or the ends of the model as well.
 * accelerate makes the same units as torchtitan, but one of both ends if they are tied. */
typedef enum ms_fsdp_units {
    MS_UNITS_LAYERS,
    MS_UNITS_TORCHTITAN,
    MS_UNITS_ACCELERATE
} ms_fsdp_units;

/* Where a model is built. One that is sharded then is on the meta device unless something else is
 * given, another on the device. */
typedef enum ms_build {
    MS_BUILD_META,
    MS_BUILD_DEVICE,
    MS_BUILD_HOST,      /* from where it is moved: by model.to(), or by fully_shard, unit by unit */
    MS_BUILD_HOST_BASE, /* the same, and an adapter is made on the device */
    MS_BUILD_BROADCAST, /* on the host of rank 0, which sends tensor by tensor to be divided */
    MS_BUILD_DEVICE_MAP /* loaded by from_pretrained(device_map=...), then an adapter is made */
} ms_build;

/* Whether parameters get their memory when the constructors are done, if nothing shards them. */
static inline bool ms_build_moves(ms_build build)
{
    return build == MS_BUILD_HOST || build == MS_BUILD_HOST_BASE || build == MS_BUILD_DEVICE_MAP;
}

extern const char *const ms_fsdp_unit_names[];
extern const char *const ms_build_names[];

/* Which ranks are predicted. */
typedef enum ms_rank_kind {
    MS_RANK_ANY,   /* nobody asked: the one that needs most, where not too many differ */
    MS_RANK_WORST, /* the one that needs most */
    MS_RANK_ALL,   /* that one, beside what each rank needs */
    MS_RANK_ONE
} ms_rank_kind;

typedef struct ms_rank_choice {
    ms_rank_kind kind;
    uint64_t rank; /* with MS_RANK_ONE */
} ms_rank_choice;

/* What a class of ranks needs that hold the same. */
typedef struct ms_rank_need {
    uint64_t rank, count;    /* the first of them; how many they are */
    uint64_t weight_bytes;   /* of the parameters it holds */
    uint64_t peak_bytes;     /* allocated at the peak of a steady step */
    uint64_t reserved_bytes; /* at its peak */
    uint64_t device_bytes;   /* expected, as for the verdict */
} ms_rank_need;

typedef struct ms_rank_table {
    const ms_rank_need *items; /* by rank; one: all ranks need the same, which was not measured */
    uint32_t count;            /* 0: other ranks were not looked at */
    uint32_t worst;
} ms_rank_table;

/* The classes of torch.distributed.pipelining. */
typedef enum ms_pipeline_kind {
    MS_PIPELINE_1F1B,           /* Schedule1F1B */
    MS_PIPELINE_GPIPE,          /* ScheduleGPipe */
    MS_PIPELINE_INTERLEAVED,    /* ScheduleInterleaved1F1B */
    MS_PIPELINE_LOOPED_BFS,     /* ScheduleLoopedBFS */
    MS_PIPELINE_INTERLEAVED_ZB, /* ScheduleInterleavedZeroBubble */
    MS_PIPELINE_ZBV,            /* ScheduleZBVZeroBubble */
    MS_PIPELINE_KINDS
} ms_pipeline_kind;

/* Zeroed: no pipeline. */
typedef struct ms_pipeline_layout {
    uint64_t ranks;         /* that follow each other; 0: no pipeline */
    uint64_t stages;        /* of each rank; 0: not given */
    uint64_t micro_batches; /* of a step; 0: not given */
    ms_pipeline_kind kind;
    bool has_kind; /* it was given */
} ms_pipeline_layout;

/* The layout that `--parallel` describes. */
typedef struct ms_layout {
    ms_parallel_kind kind;
    uint64_t shards;  /* ranks that share one copy of the parameters; 1 unless they are sharded */
    uint64_t copies;  /* of the parameters: the ranks are shards x copies x tensor */
    uint64_t tensor;  /* ranks that share each product (tensor parallelism), neighbours; else 1 */
    uint32_t stage;   /* of ZeRO: 1, 2 or 3; else 0 */
    uint64_t context; /* ranks that share each sequence (context parallelism), neighbours among the
                         shards; else 1 */
    ms_pipeline_layout pipeline; /* of the ranks that the others are multiplied by */
} ms_layout;

extern const ms_layout ms_layout_none; /* one rank */

typedef struct ms_parallel {
    ms_layout layout;
    ms_rank_choice choice; /* what was asked for */
    uint64_t rank;         /* the rank that is predicted, from 0 */
    ms_rank_table ranks;   /* filled before a step is simulated (run/simulate/ranks.h) */
    bool syncs_last_only;  /* micro-steps before the last do not reduce gradients (no_sync) */
    bool sums_last_only;   /* HSDP: before the last they do among shards, but not among copies */
    bool casts_back;       /* a packed base's other weights, which PEFT widened, are not computed
                              with: ZeRO casts them back, FSDP2 gathers them in another type */
    /* DistributedDataParallel */
    uint64_t bucket_cap_mb;   /* MiB at which a bucket is closed; 0: bucket_cap_mb=None */
    bool has_bucket_views;    /* gradients are views of the buckets */
    bool has_init_sync;       /* the constructor broadcasts the model */
    bool has_static_graph;    /* every step uses the same parameters in the same way */
    bool finds_unused;        /* each step looks for parameters that are not used */
    bool has_zero_optimizer;  /* ZeroRedundancyOptimizer: states of some parameters alone */
    bool has_parameter_views; /* its parameters are views of a buffer for each rank */
    /* fully_shard, FullyShardedDataParallel */
    ms_dtype shard_dtype;   /* of the shards */
    ms_dtype trained_dtype; /* of those that the optimizer updates: an adapter's may differ */
    ms_dtype load_dtype;    /* in which FullyShardedDataParallel divides them, before a cast */
    bool casts_buffers;     /* it is given: accelerate's buffer_dtype is that of the computation */
    ms_dtype param_dtype;   /* gathered and computed with */
    bool has_param_dtype;   /* it is given: parameters of other types are cast to it */
    ms_dtype reduce_dtype;  /* of gradients when they are reduced */
    bool keeps_unsharded;   /* a layer's parameters stay from forward to backward */
    ms_build build;
    ms_fsdp_units units;
    /* fully_shard */
    bool has_end_units;        /* embeddings, and last norm with head, are units */
    bool has_tied_ends;        /* they are one unit, in the place of the root's (accelerate) */
    bool keeps_after_backward; /* parameters stay after backward, but after the last one */
    bool reshards_root;        /* parameters of no layer go after forward too */
    bool offloads;             /* shards, gradients and states are on the host */
    bool keeps_types;          /* each part has the type of what is built on the device */
    bool shares_packed;        /* the numbers that hold packed weights are divided too */
    ms_dtype packed_dtype;     /* of these numbers */
    uint64_t reshard_ranks;    /* after forward: divided among so many ranks; 0: among all */
    /* FullyShardedDataParallel */
    bool has_flat_parameters; /* the optimizer updates these, not the original parameters */
    bool prefetches_forward;  /* the next unit is gathered while one runs */
    bool limits_all_gathers;
    ms_prefetch backward_prefetch;
    /* tensor parallelism */
    bool splits_sequence; /* what lies between attention and MLP is split by tokens */
    bool splits_loss;     /* the loss works on logits that are split by vocabulary */
    ms_zero zero;         /* DeepSpeed ZeRO */
} ms_parallel;

enum { MS_MOST_RANKS = 1 << 20 };

/* Whether ranks hold shards of the parameters. */
static inline bool ms_layout_shards(const ms_layout *layout)
{
    return layout->kind == MS_PARALLEL_FSDP2 || layout->kind == MS_PARALLEL_FSDP1;
}

/* Whether the layers are divided among ranks, alone or with fully_shard in each stage. */
static inline bool ms_layout_has_stages(const ms_layout *layout)
{
    return layout->pipeline.ranks > 0;
}

/* The ranks of a layout. */
static inline uint64_t ms_layout_world(const ms_layout *layout)
{
    uint64_t same_layers = layout->shards * layout->copies * layout->tensor;
    return ms_layout_has_stages(layout) ? same_layers * layout->pipeline.ranks : same_layers;
}

/* The ranks that have sequences of their own; the others share theirs. */
static inline uint64_t ms_layout_replicas(const ms_layout *layout)
{
    return layout->shards * layout->copies / (layout->context > 1 ? layout->context : 1);
}

/* The tokens of a sequence that a rank has. */
static inline uint64_t ms_layout_tokens(const ms_layout *layout, uint64_t tokens)
{
    return layout->context > 1 ? tokens / layout->context : tokens;
}

/* Whether so many tokens can be shared: a rank has two parts of a sequence. */
static inline bool ms_layout_splits(const ms_layout *layout, uint64_t tokens)
{
    return layout->context <= 1 || tokens % (2 * layout->context) == 0;
}

/* The rank's place in the pipeline: ranks that have the same layers are neighbours. */
static inline uint64_t ms_parallel_pipeline_rank(const ms_parallel *parallel)
{
    return parallel->rank * parallel->layout.pipeline.ranks / ms_layout_world(&parallel->layout);
}

/* Parses "none", "dp=8", "fsdp=8", "hsdp=2x8" (copies x shards), "fsdp1=8", "tp=4",
 * "tp=2,fsdp=4", "zero=2,dp=8", "cp=4", "cp=4,fsdp=2" (shards over all ranks of both) or
 * "pp=4,schedule=1f1b,microbatches=8", the last also with tp=N and fsdp=N. An error is the rest of
 * a sentence: "found ...". */
ms_status ms_layout_parse(const char *text, ms_layout *layout, ms_error *err);
/* The text for a layout, in the arena; NULL when out of memory. */
const char *ms_layout_text(ms_arena *arena, const ms_layout *layout);
/* The technique's name in sentences: "DistributedDataParallel", "FSDP2", "HSDP", "FSDP1", "tensor
 * parallelism", "ZeRO-2", "pipeline parallelism". */
const char *ms_layout_name(const ms_layout *layout);

/* ms_technique bits of treatments whose figures among these ranks are PyTorch's; one rank has all.
 */
uint32_t ms_parallel_techniques(const ms_parallel *parallel);
/* The same in words, as "checkpoint and selective". */
const char *ms_parallel_treatments(const ms_parallel *parallel);

/* ---- pipeline ---- */

/* Pipeline parallelism: the layers of a model are divided among ranks, and a step is made of
 * micro-batches. The part of the layout that says how, and what each rank has. */

/* What is particular to a schedule. Each also has a row in run/step/pipeline/schedule.c: its order.
 */
typedef struct ms_pipeline_traits {
    const char *name; /* of schedule=NAME */
    bool has_stages;  /* several on each rank; else one */
    bool is_same;     /* all ranks run the same passes in the same order */
    bool is_split;    /* backward in two parts: of inputs, then of weights */
    bool is_v_shaped; /* two stages on each rank, the second of which count down */
} ms_pipeline_traits;

const ms_pipeline_traits *ms_pipeline_traits_of(ms_pipeline_kind kind);

/* One stage of the model: layers from `first` up to, without, `end`. */
typedef struct ms_pipeline_stage {
    uint32_t index;
    uint64_t first, end;
    bool is_first; /* it has the embedding */
    bool is_last;  /* it has the norm, the head and the loss */
} ms_pipeline_stage;

/* The stage with this number among those of one rank of the pipeline, from 0, in a model of so many
 * layers: stage s of n has the layers from layers*s/n, as whole numbers. */
ms_pipeline_stage ms_pipeline_stage_of(const ms_pipeline_layout *pipeline, uint64_t rank,
                                       uint64_t number, uint64_t layers);

#endif
