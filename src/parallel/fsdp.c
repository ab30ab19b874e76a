/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The order of fully_shard's hooks: before and after each unit's forward and backward.
 */
#include "parallel/fsdp.h"

static void install(ms_tape *tape, void *state);

static void free_state(void *state)
{
    ms_fsdp *all = state;
    ms_vec_free(&all->parameters);
    ms_vec_free(&all->by_place);
    ms_vec_free(&all->units);
}

static const ms_state_kind kind = {
    .bytes = sizeof(ms_fsdp), .install = install, .free = free_state};

ms_fsdp *ms_fsdp_of(ms_tape *tape)
{
    return ms_hooks_find_state(tape, &kind);
}

static ms_fsdp_unit *unit_of(ms_tape *tape, const ms_fsdp *all, uint32_t scope)
{
    uint32_t layer = ms_scope_layer(tape, scope);
    return layer == MS_NONE ? ms_fsdp_root(all) : ms_fsdp_layer(all, layer);
}

/* ---- forward ---- */

static void before_forward(ms_tape *tape, void *context, uint32_t scope)
{
    ms_fsdp *all = context;
    if (ms_idle(tape) || tape->in_backward)
        return;
    if (scope == MS_NONE) {
        ms_fsdp_show_parameters(tape, all);
        if (!all->is_initialized)
            ms_fsdp_pad_shards(tape, all);
        all->is_initialized = true;
        all->is_embedding = all->has_head_begun = false;
        if (all->parallel->has_end_units)
            ms_fsdp_ends_begin_forward(tape, all);
    }
    ms_fsdp_unit *unit = unit_of(tape, all, scope);
    ms_fsdp_unshard(tape, all, unit);
    ms_fsdp_wait_for_unshard(tape, all, unit, true);
}

static void after_forward(ms_tape *tape, void *context, uint32_t scope)
{
    ms_fsdp *all = context;
    if (ms_idle(tape) || tape->in_backward)
        return;
    ms_fsdp_unit *unit = unit_of(tape, all, scope);
    if (all->parallel->reshard_ranks)
        ms_fsdp_spread(tape, all, unit);
    else if (scope != MS_NONE && !all->parallel->keeps_unsharded)
        ms_fsdp_reshard(tape, all, unit);
    if (ms_fsdp_is_last_layer(all, unit))
        ms_fsdp_ends_begin_head(tape, all);
    if (scope != MS_NONE)
        return;
    ms_release(tape, all->copied_out); /* the root's parameters stay */
    all->copied_out = 0;
}

/* ---- backward ---- */

/* The unit that ran before this one in forward. */
static void prefetch_before(ms_tape *tape, ms_fsdp *all, const ms_fsdp_unit *unit)
{
    uint32_t index = (uint32_t)(unit - all->units.items);
    if (index > 0)
        ms_fsdp_unshard(tape, all, &all->units.items[index - 1]);
}

static void backward_begins(ms_tape *tape)
{
    ms_fsdp *all = ms_fsdp_of(tape);
    if (all->parallel->has_end_units || all->parallel->has_tied_ends)
        return; /* the root has no parameters: the head's product begins */
    if (all->parallel->reshard_ranks) {
        ms_fsdp_unshard(tape, all, ms_fsdp_root(all));
        ms_fsdp_wait_for_unshard(tape, all, ms_fsdp_root(all), false);
    }
    prefetch_before(tape, all, ms_fsdp_root(all));
}

static void before_backward(ms_tape *tape, void *context, uint32_t scope)
{
    ms_fsdp *all = context;
    if (ms_idle(tape))
        return;
    ms_fsdp_unit *unit = unit_of(tape, all, scope);
    if (ms_fsdp_is_last_layer(all, unit))
        ms_fsdp_ends_finish_head(tape, all);
    ms_fsdp_unshard(tape, all, unit);
    ms_fsdp_wait_for_unshard(tape, all, unit, false);
    prefetch_before(tape, all, unit);
}

static void finish_backward(ms_tape *tape, ms_fsdp *all)
{
    ms_fsdp_post_backward(tape, all, ms_fsdp_root(all));
    if (all->parallel->has_end_units)
        ms_fsdp_ends_finish(tape, all);
    ms_fsdp_finalize(tape, ms_fsdp_root(all));
    for (uint32_t i = 0; i + 1 < all->units.count; i++)
        ms_fsdp_finalize(tape, &all->units.items[i]);
    ms_release(tape, all->reduce_input);
    all->reduce_input = 0;
    all->reduced = MS_NONE;
    if (all->is_last)
        ms_fsdp_show_shards(tape, all);
}

static void finish_unit(ms_tape *tape, ms_fsdp *all, ms_fsdp_unit *unit)
{
    ms_fsdp_post_backward(tape, all, unit);
    if (all->parallel->has_end_units && unit == ms_fsdp_layer(all, 0))
        ms_fsdp_ends_begin_embedding(tape, all);
}

static void after_backward(ms_tape *tape, void *context, uint32_t scope)
{
    ms_fsdp *all = context;
    if (ms_idle(tape))
        return;
    if (scope == MS_NONE)
        finish_backward(tape, all);
    else
        finish_unit(tape, all, unit_of(tape, all, scope));
}

static void install(ms_tape *tape, void *state)
{
    ms_fsdp *all = state;
    all->parallel = ms_parallel_of(tape);
    all->reduced = MS_NONE;
    uint64_t ranks = all->parallel->layout.shards;
    all->gather_stream = ms_collective_stream(tape, "all-gathers", ranks);
    all->reduce_stream = ms_collective_stream(tape, "reduce-scatters", ranks);
    if (all->parallel->layout.copies > 1)
        all->all_reduce_stream =
            ms_collective_stream(tape, "all-reduces", ms_layout_world(&all->parallel->layout));
    ms_hooks_push_module(tape, (ms_module_hooks){.before_forward = before_forward,
                                                 .after_forward = after_forward,
                                                 .before_backward = before_backward,
                                                 .after_backward = after_backward,
                                                 .context = state});
    if (all->parallel->has_end_units || all->parallel->has_tied_ends)
        ms_fsdp_ends_install(tape, all);
}

/* ---- the technique ---- */

static void build_begin(ms_tape *tape)
{
    tape->is_meta = ms_parallel_of(tape)->build != MS_BUILD_DEVICE;
}

static void build_end(ms_tape *tape)
{
    ms_fsdp *all = ms_hooks_state(tape, &kind);
    if (all)
        ms_fsdp_make_units(tape, all);
}

static void micro_step(ms_tape *tape, bool is_last)
{
    ms_fsdp *all = ms_fsdp_of(tape);
    all->is_last = is_last;
    all->reduces = is_last || !all->parallel->syncs_last_only;
}

static ms_parallel_host on_host(const ms_tape *tape)
{
    const ms_fsdp *all = ms_hooks_find_state(tape, &kind);
    ms_parallel_host host = {0};
    for (uint32_t i = 0; all && all->parallel->offloads && i < all->parameters.count; i++) {
        const ms_fsdp_parameter *row = &all->parameters.items[i];
        uint64_t size = ms_dtype_bytes(all->parallel->shard_dtype);
        host.weight_bytes += size * row->padded;
        if (row->index == MS_NONE)
            continue;
        host.trained_bytes += size * row->local;
        host.trained++;
    }
    return host;
}

const ms_parallel_technique ms_parallel_fsdp = {.build_begin = build_begin,
                                                .build_end = build_end,
                                                .micro_step = micro_step,
                                                .backward_begins = backward_begins,
                                                .on_host = on_host};
