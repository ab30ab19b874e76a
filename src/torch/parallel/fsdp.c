/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The order of fully_shard's hooks: before and after each unit's forward and backward.
 */
#include "torch/parallel/fsdp.h"

#include <stdlib.h>
#include <string.h>

/* ---- fsdp ends ---- */

/* Units of the two ends of a model, as torchtitan and accelerate make them: the embeddings,
 * and the last norm with the head, which is not resharded after its forward. accelerate makes
 * one of both where they are tied, which is the root's but for where its backward begins.
 * Their modules have no hooks of their own: the embedding's ends with its operator; the head's
 * begins where the last layer ends, and its backward with its own product. */

static ms_fsdp_unit *embeddings(const ms_fsdp *all)
{
    return &all->units.items[0];
}

static ms_fsdp_unit *head(const ms_fsdp *all)
{
    return &all->units.items[all->units.count - 2];
}

static bool fsdp_is_last_layer(const ms_fsdp *all, const ms_fsdp_unit *unit)
{
    return all->parallel->has_end_units && unit + 1 == head(all);
}

static /* ---- forward ---- */

    void
    fsdp_ends_begin_forward(ms_tape *tape, ms_fsdp *all)
{
    ms_fsdp_unshard(tape, all, embeddings(all));
    ms_fsdp_wait_for_unshard(tape, all, embeddings(all), true);
}

static void fsdp_ends_begin_head(ms_tape *tape, ms_fsdp *all)
{
    ms_fsdp_unshard(tape, all, head(all));
    ms_fsdp_wait_for_unshard(tape, all, head(all), true);
}

static /* ---- backward ---- */

    void
    fsdp_ends_finish_head(ms_tape *tape, ms_fsdp *all)
{
    ms_fsdp_post_backward(tape, all, head(all));
}

static void fsdp_ends_begin_embedding(ms_tape *tape, ms_fsdp *all)
{
    ms_fsdp_unshard(tape, all, embeddings(all));
    ms_fsdp_wait_for_unshard(tape, all, embeddings(all), false);
}

static /* Embeddings have no input with a gradient, so they are reduced when backward has ended. */
    void
    fsdp_ends_finish(ms_tape *tape, ms_fsdp *all)
{
    ms_fsdp_post_backward(tape, all, embeddings(all));
}

/* ---- operators ---- */

static void op_begins(ms_tape *tape, void *context, uint32_t number, const ms_op *op)
{
    ms_fsdp *all = context;
    (void)number;
    if (tape->module != MS_NONE)
        return;
    if (!tape->in_backward) {
        all->is_embedding = strcmp(op->name, "embedding") == 0;
        return;
    }
    bool is_product = strcmp(op->name, "mm") == 0 || strcmp(op->name, "addmm") == 0;
    if (is_product && !all->has_head_begun) {
        all->has_head_begun = true;
        const ms_fsdp_unit *unit = all->parallel->has_tied_ends ? ms_fsdp_root(all) : head(all);
        ms_fsdp_unshard(tape, all, &all->units.items[unit - all->units.items - 1]);
    }
}

static void op_ends(ms_tape *tape, void *context, uint32_t number)
{
    ms_fsdp *all = context;
    (void)number;
    bool ends_embedding = all->is_embedding && all->parallel->has_end_units;
    if (ends_embedding && !all->parallel->keeps_unsharded)
        ms_fsdp_reshard(tape, all, embeddings(all));
    all->is_embedding = false;
}

/* Units of a model's ends (fsdp_ends.c): called where forward and backward get there. */
static void fsdp_ends_install(ms_tape *tape, ms_fsdp *all)
{
    ms_hooks_push_op(tape, (ms_op_hooks){.begin = op_begins, .end = op_ends, .context = all});
}

/* ---- fsdp ---- */

static void install(ms_tape *tape, void *at);

/* The rank's stages; without a pipeline the whole model is one. */
typedef struct state {
    ms_fsdp *stages; /* NULL: out of memory */
    uint64_t count, running;
} state;

static void free_state(void *at)
{
    const state *s = at;
    for (uint64_t i = 0; s->stages && i < s->count; i++) {
        ms_vec_free(&s->stages[i].parameters);
        ms_vec_free(&s->stages[i].by_place);
        ms_vec_free(&s->stages[i].units);
    }
    free(s->stages);
}

static const ms_state_kind kind = {.bytes = sizeof(state), .install = install, .free = free_state};

/* Of the stage that runs. */
static ms_fsdp *fsdp_of(ms_tape *tape)
{
    const state *s = ms_hooks_find_state(tape, &kind);
    return s->stages ? &s->stages[s->running] : NULL;
}

static ms_fsdp_unit *unit_of(ms_tape *tape, const ms_fsdp *all, uint32_t scope)
{
    uint32_t layer = ms_scope_layer(tape, scope);
    return layer == MS_NONE ? ms_fsdp_root(all) : ms_fsdp_layer(all, layer);
}

/* ---- forward ---- */

static void before_forward(ms_tape *tape, void *context, uint32_t scope)
{
    ms_fsdp *all = fsdp_of(tape);
    (void)context;
    if (ms_idle(tape) || tape->in_backward)
        return;
    if (scope == MS_NONE) {
        ms_fsdp_show_parameters(tape, all);
        if (!all->is_initialized)
            ms_fsdp_pad_shards(tape, all);
        all->is_initialized = true;
        all->is_embedding = all->has_head_begun = false;
        if (all->parallel->has_end_units)
            fsdp_ends_begin_forward(tape, all);
    }
    ms_fsdp_unit *unit = unit_of(tape, all, scope);
    ms_fsdp_unshard(tape, all, unit);
    ms_fsdp_wait_for_unshard(tape, all, unit, true);
}

static void after_forward(ms_tape *tape, void *context, uint32_t scope)
{
    ms_fsdp *all = fsdp_of(tape);
    (void)context;
    if (ms_idle(tape) || tape->in_backward)
        return;
    ms_fsdp_unit *unit = unit_of(tape, all, scope);
    if (all->parallel->reshard_ranks)
        ms_fsdp_spread(tape, all, unit);
    else if ((scope != MS_NONE || all->parallel->reshards_root) && !all->parallel->keeps_unsharded)
        ms_fsdp_reshard(tape, all, unit);
    if (fsdp_is_last_layer(all, unit))
        fsdp_ends_begin_head(tape, all);
    if (scope != MS_NONE)
        return;
    ms_release(tape, all->copied_out); /* the root's parameters mostly stay */
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
    ms_fsdp *all = fsdp_of(tape);
    if (all->parallel->has_end_units || all->parallel->has_tied_ends)
        return; /* the root has no parameters: the head's product begins */
    if (all->parallel->reshard_ranks || all->parallel->reshards_root) {
        ms_fsdp_unshard(tape, all, ms_fsdp_root(all));
        ms_fsdp_wait_for_unshard(tape, all, ms_fsdp_root(all), false);
    }
    prefetch_before(tape, all, ms_fsdp_root(all));
}

static void before_backward(ms_tape *tape, void *context, uint32_t scope)
{
    ms_fsdp *all = fsdp_of(tape);
    (void)context;
    if (ms_idle(tape))
        return;
    ms_fsdp_unit *unit = unit_of(tape, all, scope);
    if (fsdp_is_last_layer(all, unit))
        fsdp_ends_finish_head(tape, all);
    ms_fsdp_unshard(tape, all, unit);
    ms_fsdp_wait_for_unshard(tape, all, unit, false);
    prefetch_before(tape, all, unit);
}

static void finalize(ms_tape *tape, ms_fsdp *all)
{
    ms_fsdp_finalize(tape, ms_fsdp_root(all));
    for (uint32_t i = 0; i + 1 < all->units.count; i++)
        ms_fsdp_finalize(tape, &all->units.items[i]);
    ms_release(tape, all->reduce_input);
    all->reduce_input = 0;
    all->reduced = MS_NONE;
    if (all->is_last)
        ms_fsdp_show_shards(tape, all);
}

static void finish_backward(ms_tape *tape, ms_fsdp *all)
{
    ms_fsdp_post_backward(tape, all, ms_fsdp_root(all));
    if (all->parallel->has_end_units)
        fsdp_ends_finish(tape, all);
    finalize(tape, all);
}

/* ---- stages of a pipeline ---- */

/* The schedule gathers a stage ahead of its passes: the stage's own unit, then its layers. */
static void gather_unit(ms_tape *tape, ms_fsdp *all, ms_fsdp_unit *unit)
{
    if (!all->is_initialized)
        ms_fsdp_pad_unit(tape, all, unit);
    ms_fsdp_unshard(tape, all, unit);
}

static void wait_for_unit(ms_tape *tape, ms_fsdp *all, ms_fsdp_unit *unit)
{
    ms_fsdp_wait_for_unshard(tape, all, unit, false);
}

static void for_each_unit(ms_tape *tape, ms_fsdp *all,
                          void (*call)(ms_tape *tape, ms_fsdp *all, ms_fsdp_unit *unit))
{
    call(tape, all, ms_fsdp_root(all));
    for (uint32_t i = 0; i + 1 < all->units.count; i++)
        call(tape, all, &all->units.items[i]);
}

static void stage_moment(ms_tape *tape, uint64_t number, ms_stage_moment moment)
{
    state *s = ms_hooks_find_state(tape, &kind);
    s->running = number;
    ms_fsdp *all = &s->stages[number];
    if (moment == MS_STAGE_GATHERS && all->is_one_of_several) {
        for_each_unit(tape, all, gather_unit);
        all->is_initialized = true;
    }
    if (moment == MS_STAGE_LEAVES && all->is_one_of_several)
        for_each_unit(tape, all, ms_fsdp_reshard);
    if (moment == MS_STAGE_BEGINS && all->is_one_of_several)
        for_each_unit(tape, all, wait_for_unit);
    if (moment == MS_STAGE_ENDS) {
        all->is_last = all->reduces = true;
        for_each_unit(tape, all, ms_fsdp_post_backward);
        finalize(tape, all);
    }
}

/* ---- backward of a unit ---- */

static void finish_unit(ms_tape *tape, ms_fsdp *all, ms_fsdp_unit *unit)
{
    ms_fsdp_post_backward(tape, all, unit);
    if (all->parallel->has_end_units && unit == ms_fsdp_layer(all, 0))
        fsdp_ends_begin_embedding(tape, all);
}

static void after_backward(ms_tape *tape, void *context, uint32_t scope)
{
    ms_fsdp *all = fsdp_of(tape);
    (void)context;
    if (ms_idle(tape))
        return;
    if (scope == MS_NONE)
        finish_backward(tape, all);
    else
        finish_unit(tape, all, unit_of(tape, all, scope));
}

/* Of one call: its units come later. */
static void begin_stage(ms_tape *tape, ms_fsdp *all, uint64_t number, uint64_t count)
{
    const ms_parallel *parallel = ms_parallel_of(tape);
    uint64_t ranks = parallel->layout.shards;
    *all = (ms_fsdp){.parallel = parallel,
                     .stage = {.end = UINT32_MAX, .is_first = true, .is_last = true},
                     .is_one_of_several = count > 1,
                     .reduced = MS_NONE};
    if (ms_layout_has_stages(&parallel->layout))
        all->stage =
            ms_pipeline_stage_of(&parallel->layout.pipeline, ms_parallel_pipeline_rank(parallel),
                                 number, tape->layer_scopes.count);
    uint64_t span = ranks * parallel->layout.tensor; /* those between do tensor parallelism */
    all->gather_stream = ms_collective_stream(tape, "all-gathers", span, ranks);
    all->reduce_stream = ms_collective_stream(tape, "reduce-scatters", span, ranks);
    if (parallel->layout.copies > 1)
        all->all_reduce_stream = ms_collective_stream(
            tape, "all-reduces", ms_layout_world(&parallel->layout), parallel->layout.copies);
}

static void install(ms_tape *tape, void *at)
{
    state *s = at;
    uint64_t stages = ms_parallel_of(tape)->layout.pipeline.stages;
    s->count = stages ? stages : 1;
    s->stages = calloc(s->count, sizeof *s->stages);
    if (!s->stages)
        ms_tape_fail(tape, MS_ERR_NOMEM);
    for (uint64_t i = 0; s->stages && i < s->count; i++)
        begin_stage(tape, &s->stages[i], i, s->count);
    ms_hooks_push_module(tape, (ms_module_hooks){.before_forward = before_forward,
                                                 .after_forward = after_forward,
                                                 .before_backward = before_backward,
                                                 .after_backward = after_backward,
                                                 .context = at});
    if (s->stages && (s->stages->parallel->has_end_units || s->stages->parallel->has_tied_ends))
        fsdp_ends_install(tape, s->stages);
}

/* ---- the technique ---- */

static void build_begin(ms_tape *tape)
{
    tape->is_meta = ms_parallel_of(tape)->build != MS_BUILD_DEVICE;
}

static void build_end(ms_tape *tape)
{
    const state *s = ms_hooks_state(tape, &kind);
    if (s && s->stages)
        ms_fsdp_make_units(tape, s->stages, s->count);
}

static void micro_step(ms_tape *tape, bool is_last)
{
    ms_fsdp *all = fsdp_of(tape);
    all->is_last = is_last;
    all->reduces = is_last || !all->parallel->syncs_last_only;
}

static ms_parallel_host on_host(const ms_tape *tape)
{
    const state *s = ms_hooks_find_state(tape, &kind);
    const ms_fsdp *all = s ? s->stages : NULL; /* no pipeline has any there */
    ms_parallel_host host = {0};
    for (uint32_t i = 0; all && all->parallel->offloads && i < all->parameters.count; i++) {
        const ms_fsdp_parameter *row = &all->parameters.items[i];
        uint64_t size = ms_dtype_bytes(row->dtype);
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
                                                .stage_moment = stage_moment,
                                                .on_host = on_host};
