/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The order of FullyShardedDataParallel's hooks: before and after each unit's forward and backward.
 */
#include "torch/parallel/fsdp1.h"

static void install(ms_tape *tape, void *state);

static void free_state(void *state)
{
    ms_fsdp1 *all = state;
    ms_vec_free(&all->parameters);
    ms_vec_free(&all->units);
}

static const ms_state_kind kind = {
    .bytes = sizeof(ms_fsdp1), .install = install, .free = free_state};

ms_fsdp1 *ms_fsdp1_of(ms_tape *tape)
{
    return ms_hooks_find_state(tape, &kind);
}

static ms_fsdp1_unit *unit_of(ms_tape *tape, const ms_fsdp1 *all, uint32_t scope)
{
    uint32_t layer = ms_scope_layer(tape, scope);
    return layer == MS_NONE ? ms_fsdp1_root(all) : &all->units.items[layer];
}

/* ---- forward ---- */

/* Gradients of the parts went with zero_grad where they were parameters of their own; views of
 * original parameters leave the flat gradient until now. */
static void drop_shown_gradients(ms_tape *tape, ms_fsdp1 *all)
{
    for (uint32_t i = 0; i < all->units.count && all->are_shards_shown; i++) {
        ms_fsdp1_unit *unit = &all->units.items[(i + all->units.count - 1) % all->units.count];
        ms_release(tape, unit->shard_grad);
        unit->shard_grad = 0;
    }
    all->are_shards_shown = false;
}

static void begin_forward(ms_tape *tape, ms_fsdp1 *all)
{
    ms_fsdp1_show_parameters(tape, all);
    if (!all->is_initialized)
        ms_fsdp1_initialize(tape, all);
    all->is_initialized = true;
    drop_shown_gradients(tape, all);
}

/* Before a unit's own forward or backward. */
static void unshard(ms_tape *tape, ms_fsdp1 *all, ms_fsdp1_unit *unit)
{
    if (!unit->is_prefetched)
        ms_fsdp1_unshard(tape, all, unit);
}

static void prefetch(ms_tape *tape, ms_fsdp1 *all, ms_fsdp1_unit *unit)
{
    if (unit->is_prefetched || unit->has_begun)
        return;
    ms_fsdp1_unshard(tape, all, unit);
    unit->is_prefetched = true;
}

/* The unit that runs after this one in forward. */
static void prefetch_after(ms_tape *tape, ms_fsdp1 *all, const ms_fsdp1_unit *unit)
{
    uint32_t index = unit == ms_fsdp1_root(all) ? 0 : (uint32_t)(unit - all->units.items) + 1;
    if (index + 1 < all->units.count && all->has_finished_pass)
        prefetch(tape, all, &all->units.items[index]);
}

static void before_forward(ms_tape *tape, void *context, uint32_t scope)
{
    ms_fsdp1 *all = context;
    if (ms_idle(tape) || tape->in_backward)
        return;
    if (scope == MS_NONE)
        begin_forward(tape, all);
    ms_fsdp1_unit *unit = unit_of(tape, all, scope);
    unit->is_ahead = unit->is_prefetched;
    unshard(tape, all, unit);
    if (all->parallel->prefetches_forward)
        prefetch_after(tape, all, unit);
}

/* Original parameters become views of the part that was cast. */
static void drop_loaded(ms_tape *tape, ms_fsdp1_unit *unit)
{
    ms_release(tape, unit->loaded);
    unit->loaded = 0;
}

static void after_forward(ms_tape *tape, void *context, uint32_t scope)
{
    ms_fsdp1 *all = context;
    if (ms_idle(tape) || tape->in_backward)
        return;
    unit_of(tape, all, scope)->is_prefetched = false;
    if (!all->parallel->keeps_unsharded)
        drop_loaded(tape, unit_of(tape, all, scope));
    if (scope == MS_NONE || all->parallel->keeps_unsharded)
        return; /* the root's parameters stay */
    ms_fsdp1_reshard(tape, all, unit_of(tape, all, scope), MS_STREAM_OPERATORS);
}

/* ---- backward ---- */

/* The unit that ran before this one in forward. */
static void prefetch_before(ms_tape *tape, ms_fsdp1 *all, const ms_fsdp1_unit *unit,
                            ms_prefetch when)
{
    uint32_t index = (uint32_t)(unit - all->units.items);
    if (index > 0 && all->parallel->backward_prefetch == when)
        prefetch(tape, all, &all->units.items[index - 1]);
}

static void backward_begins(ms_tape *tape)
{
    ms_fsdp1 *all = ms_fsdp1_of(tape);
    unshard(tape, all, ms_fsdp1_root(all)); /* it is gathered, but the limiter counts it */
    prefetch_before(tape, all, ms_fsdp1_root(all), MS_PREFETCH_PRE);
}

static void before_backward(ms_tape *tape, void *context, uint32_t scope)
{
    ms_fsdp1 *all = context;
    if (ms_idle(tape))
        return;
    ms_fsdp1_unit *unit = unit_of(tape, all, scope);
    unshard(tape, all, unit);
    unit->has_begun = true;
    prefetch_before(tape, all, unit, MS_PREFETCH_PRE);
}

static void post_backward(ms_tape *tape, ms_fsdp1 *all, ms_fsdp1_unit *unit)
{
    unit->is_prefetched = unit->has_begun = false;
    if (!ms_fsdp1_flatten_gradients(tape, all, unit))
        return;
    drop_loaded(tape, unit);
    if (all->reduces || !all->parallel->keeps_unsharded)
        ms_fsdp1_reshard(tape, all, unit, all->gather_stream);
    if (unit->scope != MS_NONE) /* the root's is the last backward */
        prefetch_before(tape, all, unit, MS_PREFETCH_POST);
    if (all->reduces)
        ms_fsdp1_reduce(tape, all, unit);
    else
        ms_fsdp1_keep_gradient(tape, all, unit);
}

/* A flat parameter is split into parameters when it is gathered. Of two nodes that are ready,
 * autograd runs the one that was made later; so where a unit was gathered ahead, its split's
 * backward waits until that of the unit before it is done, and so do its gradients. */
static void run_late(ms_tape *tape, ms_fsdp1 *all)
{
    ms_fsdp1_unit *unit = all->late;
    all->late = NULL;
    if (unit)
        post_backward(tape, all, unit);
}

static void finish_backward(ms_tape *tape, ms_fsdp1 *all)
{
    run_late(tape, all);
    post_backward(tape, all, ms_fsdp1_root(all));
    for (uint32_t i = 0; i < all->units.count; i++)
        if (all->reduces || !all->parallel->keeps_unsharded)
            ms_fsdp1_reshard(tape, all, &all->units.items[i], MS_STREAM_OPERATORS);
    all->has_finished_pass = true;
    if (all->is_last)
        ms_fsdp1_show_shards(tape, all);
}

static void after_backward(ms_tape *tape, void *context, uint32_t scope)
{
    ms_fsdp1 *all = context;
    if (ms_idle(tape))
        return;
    if (scope == MS_NONE) {
        finish_backward(tape, all);
        return;
    }
    ms_fsdp1_unit *unit = unit_of(tape, all, scope);
    run_late(tape, all);
    if (unit->is_ahead)
        all->late = unit;
    else
        post_backward(tape, all, unit);
}

static void install(ms_tape *tape, void *state)
{
    ms_fsdp1 *all = state;
    all->parallel = ms_parallel_of(tape);
    uint64_t ranks = all->parallel->layout.shards;
    all->cast_stream = ms_collective_stream(tape, "casts of shards", ranks, ranks);
    all->gather_stream = ms_collective_stream(tape, "all-gathers", ranks, ranks);
    all->reduce_stream = ms_collective_stream(tape, "reduce-scatters", ranks, ranks);
    if (all->parallel->layout.copies > 1)
        all->all_reduce_stream =
            ms_collective_stream(tape, "all-reduces", ms_layout_world(&all->parallel->layout),
                                 all->parallel->layout.copies);
    ms_hooks_push_module(tape, (ms_module_hooks){.before_forward = before_forward,
                                                 .after_forward = after_forward,
                                                 .before_backward = before_backward,
                                                 .after_backward = after_backward,
                                                 .context = state});
}

/* ---- the technique ---- */

static void build_begin(ms_tape *tape)
{
    tape->is_meta = ms_parallel_of(tape)->build != MS_BUILD_DEVICE;
}

static void build_end(ms_tape *tape)
{
    ms_fsdp1 *all = ms_hooks_state(tape, &kind);
    if (all)
        ms_fsdp1_make_units(tape, all);
}

static void micro_step(ms_tape *tape, bool is_last)
{
    ms_fsdp1 *all = ms_fsdp1_of(tape);
    all->is_last = is_last;
    all->reduces = is_last || !all->parallel->syncs_last_only;
}

static void clip(ms_tape *tape)
{
    ms_fsdp1_clip(tape, ms_fsdp1_of(tape));
}

const ms_parallel_technique ms_parallel_fsdp1 = {.build_begin = build_begin,
                                                 .build_end = build_end,
                                                 .micro_step = micro_step,
                                                 .backward_begins = backward_begins,
                                                 .clip = clip};
