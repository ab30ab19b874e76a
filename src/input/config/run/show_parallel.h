/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What reports say of the options of several ranks: each is shown where the layout uses it.
 * `source` is an ms_run_seen; texts live in the arena.
 */
#ifndef MS_INPUT_CONFIG_RUN_SHOW_PARALLEL_H
#define MS_INPUT_CONFIG_RUN_SHOW_PARALLEL_H

#include "input/config/run/run_fields.h"

void ms_show_parallel(const void *source, ms_arena *arena, ms_config_shown *shown);
void ms_show_rank(const void *source, ms_arena *arena, ms_config_shown *shown);
void ms_show_dtype(const void *source, ms_arena *arena, ms_config_shown *shown);
void ms_show_param_dtype(const void *source, ms_arena *arena, ms_config_shown *shown);
void ms_show_reduce_dtype(const void *source, ms_arena *arena, ms_config_shown *shown);
void ms_show_reshards(const void *source, ms_arena *arena, ms_config_shown *shown);
void ms_show_reshard_ranks(const void *source, ms_arena *arena, ms_config_shown *shown);
void ms_show_reshards_root(const void *source, ms_arena *arena, ms_config_shown *shown);
void ms_show_reshards_after_backward(const void *source, ms_arena *arena, ms_config_shown *shown);
void ms_show_fsdp_units(const void *source, ms_arena *arena, ms_config_shown *shown);
void ms_show_build(const void *source, ms_arena *arena, ms_config_shown *shown);
void ms_show_fsdp_offload(const void *source, ms_arena *arena, ms_config_shown *shown);
void ms_show_orig_params(const void *source, ms_arena *arena, ms_config_shown *shown);
void ms_show_forward_prefetch(const void *source, ms_arena *arena, ms_config_shown *shown);
void ms_show_backward_prefetch(const void *source, ms_arena *arena, ms_config_shown *shown);
void ms_show_limits(const void *source, ms_arena *arena, ms_config_shown *shown);
void ms_show_bucket_cap(const void *source, ms_arena *arena, ms_config_shown *shown);
void ms_show_zero_optimizer(const void *source, ms_arena *arena, ms_config_shown *shown);
void ms_show_parameter_views(const void *source, ms_arena *arena, ms_config_shown *shown);
void ms_show_bucket_views(const void *source, ms_arena *arena, ms_config_shown *shown);
void ms_show_static_graph(const void *source, ms_arena *arena, ms_config_shown *shown);
void ms_show_finds_unused(const void *source, ms_arena *arena, ms_config_shown *shown);
void ms_show_no_sync(const void *source, ms_arena *arena, ms_config_shown *shown);
void ms_show_splits_sequence(const void *source, ms_arena *arena, ms_config_shown *shown);
void ms_show_splits_loss(const void *source, ms_arena *arena, ms_config_shown *shown);
void ms_show_zero_bucket(const void *source, ms_arena *arena, ms_config_shown *shown);
void ms_show_zero_prefetch(const void *source, ms_arena *arena, ms_config_shown *shown);
void ms_show_zero_live(const void *source, ms_arena *arena, ms_config_shown *shown);
void ms_show_zero_reuse(const void *source, ms_arena *arena, ms_config_shown *shown);
void ms_show_zero_threshold(const void *source, ms_arena *arena, ms_config_shown *shown);
void ms_show_zero_overlap(const void *source, ms_arena *arena, ms_config_shown *shown);
void ms_show_zero_contiguous(const void *source, ms_arena *arena, ms_config_shown *shown);
void ms_show_decay_groups(const void *source, ms_arena *arena, ms_config_shown *shown);
void ms_show_zero_init(const void *source, ms_arena *arena, ms_config_shown *shown);
void ms_show_offload_param(const void *source, ms_arena *arena, ms_config_shown *shown);
void ms_show_init_sync(const void *source, ms_arena *arena, ms_config_shown *shown);
void ms_show_no_all_reduce(const void *source, ms_arena *arena, ms_config_shown *shown);
void ms_show_load_dtype(const void *source, ms_arena *arena, ms_config_shown *shown);

/* Refuses several ranks for `what`: "a probe". */
ms_status ms_parallel_refuse(const ms_parallel *parallel, const char *what, ms_error *err);

#endif
