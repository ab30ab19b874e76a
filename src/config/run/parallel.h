/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Ranks that train together, and how they share the work.
 */
#ifndef MS_CONFIG_RUN_PARALLEL_H
#define MS_CONFIG_RUN_PARALLEL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "config/run/zero.h"
#include "tensor/dtype.h"

typedef enum ms_parallel_kind {
    MS_PARALLEL_NONE,  /* one rank */
    MS_PARALLEL_DDP,   /* DistributedDataParallel: every rank holds the model */
    MS_PARALLEL_FSDP2, /* fully_shard: every rank holds a shard of each parameter */
    MS_PARALLEL_ZERO   /* DeepSpeed ZeRO: every rank updates a part of the flattened parameters */
} ms_parallel_kind;

/* The layout that `--parallel` describes. */
typedef struct ms_layout {
    ms_parallel_kind kind;
    uint64_t shards; /* ranks that share one copy of the parameters; 1 unless they are sharded */
    uint64_t copies; /* of the parameters: the ranks are shards x copies */
    uint32_t stage;  /* of ZeRO: 1, 2 or 3 */
} ms_layout;

typedef struct ms_parallel {
    ms_layout layout;
    uint64_t rank;        /* the rank that is predicted, from 0 */
    bool syncs_last_only; /* micro-steps before the last do not reduce gradients (no_sync) */
    /* DistributedDataParallel */
    uint64_t bucket_cap_mb; /* a bucket is closed when it has reached so many MiB */
    bool has_bucket_views;  /* gradients are views of the buckets */
    /* fully_shard */
    ms_dtype shard_dtype;  /* of the shards, which the optimizer updates */
    ms_dtype param_dtype;  /* gathered and computed with */
    ms_dtype reduce_dtype; /* of gradients when they are reduced */
    bool keeps_unsharded;  /* a layer's parameters stay from forward to backward */
    ms_zero zero;          /* DeepSpeed ZeRO */
} ms_parallel;

enum { MS_MOST_RANKS = 1 << 20 };

/* The ranks of a layout. */
static inline uint64_t ms_layout_world(const ms_layout *layout)
{
    return layout->shards * layout->copies;
}

/* Parses "none", "dp=8", "fsdp=8", "hsdp=2x8" (copies x shards) or "zero=2,dp=8". An error is the
 * rest of a sentence: "found ...". */
ms_status ms_layout_parse(const char *text, ms_layout *layout, ms_error *err);
/* The text for a layout, in the arena; NULL when out of memory. */
const char *ms_layout_text(ms_arena *arena, const ms_layout *layout);
/* The technique's name in sentences: "DistributedDataParallel", "FSDP2", "HSDP",
 * "ZeRO-2". */
const char *ms_layout_name(const ms_layout *layout);

/* Refuses several ranks for `what`: "a plan". */
ms_status ms_parallel_refuse(const ms_parallel *parallel, const char *what, ms_error *err);

#endif
