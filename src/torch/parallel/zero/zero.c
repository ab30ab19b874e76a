/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * DeepSpeed ZeRO, stages 1 and 2: where it takes part in a step.
 */
#include "torch/parallel/zero/zero.h"

static void install(ms_tape *tape, void *state);

static void free_state(void *state)
{
    ms_zero12 *all = state;
    for (uint32_t i = 0; i < all->groups.count; i++) {
        ms_vec_free(&all->groups.items[i].kept);
        ms_vec_free(&all->groups.items[i].averaged);
    }
    ms_vec_free(&all->groups);
    ms_vec_free(&all->order);
    ms_vec_free(&all->places);
    ms_vec_free(&all->bucket);
    ms_vec_free(&all->widened);
    ms_vec_free(&all->norms);
}

static const ms_state_kind kind = {
    .bytes = sizeof(ms_zero12), .install = install, .free = free_state};

ms_zero12 *ms_zero12_of(ms_tape *tape)
{
    return ms_hooks_find_state(tape, &kind);
}

static void accumulated(ms_tape *tape, void *context, uint32_t index)
{
    ms_zero12 *all = context;
    if (index < all->places.count && !ms_idle(tape))
        ms_zero_collect(tape, all, index);
}

static void install(ms_tape *tape, void *state)
{
    ms_zero12 *all = state;
    all->parallel = ms_parallel_of(tape);
    all->stream = ms_collective_stream(tape, "reductions", all->parallel->layout.shards,
                                       all->parallel->layout.shards);
    ms_hooks_push_gradient(tape, (ms_gradient_hook){.accumulated = accumulated, .context = state});
}

static void build_end(ms_tape *tape)
{
    ms_zero12 *all = ms_hooks_state(tape, &kind);
    if (all)
        ms_zero_flatten(tape, all);
}

static void micro_step(ms_tape *tape, bool is_last)
{
    ms_zero12_of(tape)->is_last = is_last;
}

static void backward_ends(ms_tape *tape)
{
    ms_zero_finish_backward(tape, ms_zero12_of(tape));
}

static void update_begins(ms_tape *tape)
{
    ms_zero12 *all = ms_zero12_of(tape);
    if (all->parallel->zero.offloads_optimizer)
        ms_zero_offload_update(tape, all);
    else
        ms_zero_prepare_update(tape, all);
}

static bool update_ends(ms_tape *tape)
{
    ms_zero12 *all = ms_zero12_of(tape);
    return !all->parallel->zero.offloads_optimizer && ms_zero_finish_update(tape, all);
}

static uint64_t host_bytes(ms_tape *tape, uint64_t states)
{
    return ms_zero_offload_host_bytes(ms_zero12_of(tape), states);
}

/* Stage 1 keeps all of them until the last reduction, stage 2 its partition, the host all there is.
 */
static uint64_t gradient_bytes(ms_tape *tape)
{
    const ms_zero12 *all = ms_zero12_of(tape);
    if (all->parallel->zero.offloads_optimizer)
        return 0;
    uint64_t ranks = all->parallel->layout.stage == 1 ? all->parallel->layout.shards : 1;
    ms_dtype dtype = all->parallel->zero.accumulates_f32 ? MS_DTYPE_F32 : all->dtype;
    return ms_zero_partitions(all) * ranks * ms_dtype_bytes(dtype);
}

const ms_parallel_technique ms_parallel_zero = {.build_end = build_end,
                                                .micro_step = micro_step,
                                                .backward_ends = backward_ends,
                                                .update_begins = update_begins,
                                                .update_ends = update_ends,
                                                .host_bytes = host_bytes,
                                                .gradient_bytes = gradient_bytes,
                                                .is_engine = true};
