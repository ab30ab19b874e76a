/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/run/show_parallel.h"

static void show_text(ms_config_shown *shown, const char *text)
{
    *shown = (ms_config_shown){.form = MS_SHOWN_TEXT, .text = text};
}

/* ---- several ranks: only what the layout uses is shown ---- */

static const ms_parallel *parallel_of(const void *source)
{
    return &((const ms_run_seen *)source)->run->parallel;
}

static bool is_kind(const void *source, ms_parallel_kind kind)
{
    return parallel_of(source)->layout.kind == kind;
}

void ms_show_parallel(const void *source, ms_arena *arena, ms_config_shown *shown)
{
    if (!is_kind(source, MS_PARALLEL_NONE))
        show_text(shown, ms_layout_text(arena, &parallel_of(source)->layout));
}

void ms_show_rank(const void *source, ms_arena *arena, ms_config_shown *shown)
{
    (void)arena;
    if (!is_kind(source, MS_PARALLEL_NONE))
        *shown = (ms_config_shown){.form = MS_SHOWN_COUNT, .count = parallel_of(source)->rank};
}

/* The weights' own type, which is not that of the computation where they are sharded. */
void ms_show_dtype(const void *source, ms_arena *arena, ms_config_shown *shown)
{
    const ms_run_config *run = ((const ms_run_seen *)source)->run;
    (void)arena;
    ms_dtype dtype =
        ms_layout_shards(&run->parallel.layout) ? run->parallel.shard_dtype : run->dtype;
    show_text(shown, ms_dtype_weight_names[dtype]);
}

void ms_show_param_dtype(const void *source, ms_arena *arena, ms_config_shown *shown)
{
    (void)arena;
    if (ms_layout_shards(&parallel_of(source)->layout))
        show_text(shown, ms_dtype_weight_names[parallel_of(source)->param_dtype]);
}

void ms_show_reduce_dtype(const void *source, ms_arena *arena, ms_config_shown *shown)
{
    (void)arena;
    if (ms_layout_shards(&parallel_of(source)->layout))
        show_text(shown, ms_dtype_weight_names[parallel_of(source)->reduce_dtype]);
}

static void show_answer(ms_config_shown *shown, bool answer)
{
    *shown = (ms_config_shown){.form = MS_SHOWN_BOOL, .count = answer};
}

void ms_show_reshards(const void *source, ms_arena *arena, ms_config_shown *shown)
{
    (void)arena;
    if (ms_layout_shards(&parallel_of(source)->layout))
        show_answer(shown, !parallel_of(source)->keeps_unsharded);
}

void ms_show_reshard_ranks(const void *source, ms_arena *arena, ms_config_shown *shown)
{
    (void)arena;
    if (parallel_of(source)->reshard_ranks)
        *shown =
            (ms_config_shown){.form = MS_SHOWN_COUNT, .count = parallel_of(source)->reshard_ranks};
}

void ms_show_reshards_root(const void *source, ms_arena *arena, ms_config_shown *shown)
{
    (void)arena;
    if (parallel_of(source)->reshards_root)
        show_answer(shown, true);
}

void ms_show_reshards_after_backward(const void *source, ms_arena *arena, ms_config_shown *shown)
{
    (void)arena;
    if (is_kind(source, MS_PARALLEL_FSDP2))
        show_answer(shown, !parallel_of(source)->keeps_after_backward);
}

void ms_show_fsdp_units(const void *source, ms_arena *arena, ms_config_shown *shown)
{
    (void)arena;
    if (is_kind(source, MS_PARALLEL_FSDP2))
        show_text(shown, ms_fsdp_unit_names[parallel_of(source)->units]);
}

void ms_show_build(const void *source, ms_arena *arena, ms_config_shown *shown)
{
    const ms_parallel *parallel = parallel_of(source);
    (void)arena;
    if (ms_layout_shards(&parallel->layout) || ms_build_moves(parallel->build))
        show_text(shown, ms_build_names[parallel->build]);
}

void ms_show_fsdp_offload(const void *source, ms_arena *arena, ms_config_shown *shown)
{
    (void)arena;
    if (is_kind(source, MS_PARALLEL_FSDP2))
        show_answer(shown, parallel_of(source)->offloads);
}

void ms_show_orig_params(const void *source, ms_arena *arena, ms_config_shown *shown)
{
    (void)arena;
    if (is_kind(source, MS_PARALLEL_FSDP1))
        show_answer(shown, !parallel_of(source)->has_flat_parameters);
}

void ms_show_forward_prefetch(const void *source, ms_arena *arena, ms_config_shown *shown)
{
    (void)arena;
    if (is_kind(source, MS_PARALLEL_FSDP1))
        show_answer(shown, parallel_of(source)->prefetches_forward);
}

void ms_show_backward_prefetch(const void *source, ms_arena *arena, ms_config_shown *shown)
{
    (void)arena;
    if (is_kind(source, MS_PARALLEL_FSDP1))
        show_text(shown, ms_prefetch_names[parallel_of(source)->backward_prefetch]);
}

void ms_show_limits(const void *source, ms_arena *arena, ms_config_shown *shown)
{
    (void)arena;
    if (is_kind(source, MS_PARALLEL_FSDP1))
        show_answer(shown, parallel_of(source)->limits_all_gathers);
}

void ms_show_bucket_cap(const void *source, ms_arena *arena, ms_config_shown *shown)
{
    (void)arena;
    if (is_kind(source, MS_PARALLEL_DDP))
        *shown =
            (ms_config_shown){.form = MS_SHOWN_COUNT, .count = parallel_of(source)->bucket_cap_mb};
}

void ms_show_zero_optimizer(const void *source, ms_arena *arena, ms_config_shown *shown)
{
    (void)arena;
    if (is_kind(source, MS_PARALLEL_DDP))
        show_answer(shown, parallel_of(source)->has_zero_optimizer);
}

void ms_show_parameter_views(const void *source, ms_arena *arena, ms_config_shown *shown)
{
    (void)arena;
    if (is_kind(source, MS_PARALLEL_DDP) && parallel_of(source)->has_zero_optimizer)
        show_answer(shown, parallel_of(source)->has_parameter_views);
}

void ms_show_bucket_views(const void *source, ms_arena *arena, ms_config_shown *shown)
{
    (void)arena;
    if (is_kind(source, MS_PARALLEL_DDP))
        show_answer(shown, parallel_of(source)->has_bucket_views);
}

void ms_show_static_graph(const void *source, ms_arena *arena, ms_config_shown *shown)
{
    (void)arena;
    if (is_kind(source, MS_PARALLEL_DDP))
        show_answer(shown, parallel_of(source)->has_static_graph);
}

void ms_show_finds_unused(const void *source, ms_arena *arena, ms_config_shown *shown)
{
    (void)arena;
    if (is_kind(source, MS_PARALLEL_DDP))
        show_answer(shown, parallel_of(source)->finds_unused);
}

void ms_show_no_sync(const void *source, ms_arena *arena, ms_config_shown *shown)
{
    const ms_run_seen *seen = source;
    (void)arena;
    if (!is_kind(source, MS_PARALLEL_NONE) && seen->run->training.accumulate > 1)
        show_answer(shown, parallel_of(source)->syncs_last_only);
}

void ms_show_splits_sequence(const void *source, ms_arena *arena, ms_config_shown *shown)
{
    (void)arena;
    if (parallel_of(source)->layout.tensor > 1)
        show_answer(shown, parallel_of(source)->splits_sequence);
}

void ms_show_splits_loss(const void *source, ms_arena *arena, ms_config_shown *shown)
{
    (void)arena;
    if (parallel_of(source)->layout.tensor > 1)
        show_answer(shown, parallel_of(source)->splits_loss);
}

void ms_show_init_sync(const void *source, ms_arena *arena, ms_config_shown *shown)
{
    (void)arena;
    if (is_kind(source, MS_PARALLEL_DDP))
        show_answer(shown, parallel_of(source)->has_init_sync);
}

void ms_show_no_all_reduce(const void *source, ms_arena *arena, ms_config_shown *shown)
{
    const ms_run_seen *seen = source;
    (void)arena;
    if (is_kind(source, MS_PARALLEL_FSDP2) && parallel_of(source)->layout.copies > 1 &&
        seen->run->training.accumulate > 1)
        show_answer(shown, parallel_of(source)->sums_last_only);
}

void ms_show_load_dtype(const void *source, ms_arena *arena, ms_config_shown *shown)
{
    const ms_parallel *parallel = parallel_of(source);
    (void)arena;
    if (is_kind(source, MS_PARALLEL_FSDP1) && parallel->load_dtype != parallel->shard_dtype)
        show_text(shown, ms_dtype_weight_names[parallel->load_dtype]);
}

/* ---- DeepSpeed ZeRO ---- */

static void show_zero_count(const void *source, bool from_stage3, uint64_t count,
                            ms_config_shown *shown)
{
    bool is_used = is_kind(source, MS_PARALLEL_ZERO) &&
                   (!from_stage3 || parallel_of(source)->layout.stage == 3);
    if (is_used)
        *shown = (ms_config_shown){.form = MS_SHOWN_COUNT, .count = count};
}

#define SHOW_ZERO_COUNT(function, from_stage3, member)                                             \
    void function(const void *source, ms_arena *arena, ms_config_shown *shown)                     \
    {                                                                                              \
        (void)arena;                                                                               \
        show_zero_count(source, from_stage3, parallel_of(source)->zero.member, shown);             \
    }
SHOW_ZERO_COUNT(ms_show_zero_bucket, false, reduce_bucket_size)
SHOW_ZERO_COUNT(ms_show_zero_prefetch, true, prefetch_bucket_size)
SHOW_ZERO_COUNT(ms_show_zero_live, true, max_live_parameters)
SHOW_ZERO_COUNT(ms_show_zero_reuse, true, max_reuse_distance)
SHOW_ZERO_COUNT(ms_show_zero_threshold, true, param_persistence_threshold)

void ms_show_zero_overlap(const void *source, ms_arena *arena, ms_config_shown *shown)
{
    (void)arena;
    if (is_kind(source, MS_PARALLEL_ZERO))
        show_answer(shown, parallel_of(source)->zero.overlap_comm);
}

void ms_show_zero_contiguous(const void *source, ms_arena *arena, ms_config_shown *shown)
{
    (void)arena;
    if (is_kind(source, MS_PARALLEL_ZERO))
        show_answer(shown, parallel_of(source)->zero.contiguous_gradients);
}

void ms_show_decay_groups(const void *source, ms_arena *arena, ms_config_shown *shown)
{
    (void)arena;
    if (is_kind(source, MS_PARALLEL_ZERO) && parallel_of(source)->zero.has_decay_groups)
        show_answer(shown, true);
}

void ms_show_zero_init(const void *source, ms_arena *arena, ms_config_shown *shown)
{
    (void)arena;
    if (is_kind(source, MS_PARALLEL_ZERO) && parallel_of(source)->layout.stage == 3)
        show_answer(shown, parallel_of(source)->zero.init);
}

void ms_show_offload_param(const void *source, ms_arena *arena, ms_config_shown *shown)
{
    (void)arena;
    if (is_kind(source, MS_PARALLEL_ZERO) && parallel_of(source)->layout.stage == 3)
        show_answer(shown, parallel_of(source)->zero.offloads_parameters);
}

ms_status ms_parallel_refuse(const ms_parallel *parallel, const char *what, ms_error *err)
{
    if (parallel->layout.kind == MS_PARALLEL_NONE)
        return MS_OK;
    return ms_fail(err, MS_ERR_USAGE, "parallel: %s is for one rank; leave it out", what);
}
