/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Activation checkpointing.
 *
 * Non-reentrant: in forward every saved tensor of the region becomes an empty holder, and the
 * region's input is kept. The first holder that backward unpacks recomputes the region; the saved
 * tensors fill the holders in order, and the last one stops it (early stop). Each tensor is freed
 * with the node that unpacked it; the input is freed with the last holder. An input on the host is
 * fetched for the recomputation and freed after it.
 *
 * Reentrant: forward runs without a graph; backward runs the region again with one, on a detached
 * input, and a nested backward through it.
 */
#include "torch/treatments/recompute.h"

#include <string.h>

#include "torch/autograd/graph.h"
#include "torch/treatments/frames.h"
#include "torch/treatments/offload.h"
#include "torch/treatments/selective.h"

static void drop_graph(void *state)
{
    ms_checkpoints *all = state;
    all->rows.count = all->recomputed.count = all->dead.count = all->kept.count = 0;
}

static void free_state(void *state)
{
    ms_checkpoints *all = state;
    ms_vec_free(&all->rows);
    ms_vec_free(&all->recomputed);
    ms_vec_free(&all->dead);
    ms_vec_free(&all->kept);
    ms_vec_free(&all->op_counts);
}

static const ms_state_kind kind = {
    .bytes = sizeof(ms_checkpoints), .drop_graph = drop_graph, .free = free_state};

void ms_checkpoint_choose(ms_tape *tape, ms_checkpoint_kind chosen)
{
    ms_checkpoints *all = ms_hooks_state(tape, &kind);
    if (all)
        all->kind = chosen;
}

bool ms_checkpoint_argument(const ms_tape *tape, uint32_t number, ms_tensor *tensor)
{
    const ms_checkpoints *all = ms_hooks_find_state(tape, &kind);
    enum { EACH = 2 + MS_MAX_KEPT_ARGUMENTS };
    if (!all || number / EACH >= all->rows.count)
        return false;
    const ms_stored_weights *frame = &all->rows.items[number / EACH];
    const uint32_t place = number % EACH;
    if (place < 2) /* a node of its own saves them for a reentrant one */
        *tensor = all->kind == MS_CHECKPOINT_REENTRANT ? 0
                  : place                              ? frame->positional
                                                       : frame->input;
    else
        *tensor = frame->saves_held ? frame->held[place - 2] : 0;
    return true;
}

/* ---- recomputation ---- */

/* The graph that recomputation made goes; only Python numbers are saved in its nodes themselves. */
static void drop_numbers(ms_tape *tape, uint32_t first_node)
{
    for (uint32_t i = first_node; i < tape->nodes.count; i++)
        for (uint32_t k = 0; k < tape->nodes.items[i].saved_count; k++)
            ms_release(tape, tape->nodes.items[i].saved[k]);
}

/* The frame's arguments, those that are on the host back from there. */
typedef struct arguments {
    ms_tensor input, positional;
} arguments;

static arguments fetch_arguments(ms_tape *tape, const ms_stored_weights *frame)
{
    arguments a = {frame->input, frame->positional};
    if (frame->input_slot != MS_NONE)
        a.input = ms_offload_unpack(tape, frame->input_slot);
    if (frame->positional_slot != MS_NONE)
        a.positional = ms_offload_unpack(tape, frame->positional_slot);
    return a;
}

static void drop_arguments(ms_tape *tape, const ms_stored_weights *frame, arguments a)
{
    if (frame->input_slot != MS_NONE)
        ms_release(tape, a.input);
    if (frame->positional_slot != MS_NONE)
        ms_release(tape, a.positional);
}

/* The region once more, with the arguments in their places. */
static void run_again(ms_tape *tape, const ms_stored_weights *frame, arguments a)
{
    ms_tensor before = frame->positional_at ? *frame->positional_at : 0;
    uint32_t previous = ms_scope_enter(tape, frame->scope);
    if (frame->positional_at)
        *frame->positional_at = a.positional;
    ms_tensor result = frame->region(tape, frame->context, frame->number, a.input);
    if (frame->positional_at)
        *frame->positional_at = before;
    tape->scope = previous;
    tape->stopped = false;
    ms_consume(tape, result);
}

static bool is_dead(const ms_checkpoints *all, const ms_stored_weights *frame, uint32_t holder)
{
    for (uint32_t i = 0; i < frame->dead_count; i++)
        if (all->dead.items[frame->first_dead + i] == holder)
            return true;
    return false;
}

/* A tensor saved by the rerun fills the next holder, or stays with its node where forward's is
 * gone; with the last one it stops (early stop). */
static bool refill(ms_tape *tape, void *context, uint32_t number, ms_tensor tensor,
                   uint32_t *packed)
{
    ms_checkpoints *all = context;
    ms_stored_weights *frame = &all->rows.items[number];
    uint32_t holder = frame->recomputed_count++;
    if (frame->recomputed_count == frame->holder_count)
        tape->stopped = true;
    if (is_dead(all, frame, holder))
        return false;
    ms_mark_saved(tape, tensor);
    ms_retain(tape, tensor);
    all->recomputed.items[frame->first_recomputed + holder] = tensor;
    *packed = holder;
    return true;
}

static void recompute(ms_tape *tape, ms_checkpoints *all, uint32_t index)
{
    ms_stored_weights frame = all->rows.items[index];
    arguments given = fetch_arguments(tape, &frame);
    if (ms_idle(tape))
        return;
    ms_graph_end end = ms_graph_end_of(tape);
    uint32_t first = all->recomputed.count;
    for (uint32_t i = 0; i < frame.holder_count; i++)
        if (!ms_vec_push(&all->recomputed, 0u))
            ms_tape_fail(tape, MS_ERR_NOMEM);
    all->rows.items[index].first_recomputed = first;
    all->rows.items[index].is_recomputed = true;
    all->rows.items[index].first_node = end.nodes;
    ms_rerun_mode mode = ms_rerun_begin(tape);
    ms_tensor random_state = ms_host_random_state(tape);
    ms_hooks_push_saved(
        tape, (ms_saved_hooks){
                  .pack = refill, .context = all, .number = index, .saving = MS_SAVING_AGAIN});
    if (frame.kept_op_count)
        ms_selective_begin(tape, all, index);
    run_again(tape, &frame, given);
    if (frame.kept_op_count)
        ms_selective_end(tape);
    ms_hooks_pop_saved(tape);
    if (tape->has_autocast)
        ms_autocast_clear(tape);
    ms_release(tape, random_state);
    drop_arguments(tape, &frame, given);
    ms_rerun_end(tape, mode);
    drop_numbers(tape, end.nodes);
    ms_graph_cut(tape, end);
}

/* What a node of the recomputation saved. */
static void keep_saved(ms_tape *tape, const ms_checkpoints *all, const ms_stored_weights *frame,
                       const ms_node *node, ms_shared_arguments *kept)
{
    for (uint32_t i = 0; i < node->saved_count; i++) {
        ms_tensor tensor = node->packed[i] == MS_NONE
                               ? node->saved[i]
                               : all->recomputed.items[frame->first_recomputed + node->packed[i]];
        if (!tensor)
            continue;
        ms_retain(tape, tensor);
        if (!ms_vec_push(&kept->items, tensor))
            ms_tape_fail(tape, MS_ERR_NOMEM);
    }
}

static void visit(ms_tape *tape, uint32_t node, uint32_t first)
{
    if (node != MS_NONE && node >= first)
        tape->nodes.items[node].visited = true; /* these nodes never run */
}

void ms_checkpoint_keep_graph(ms_tape *tape, const ms_tensor tensors[2], ms_shared_arguments *kept)
{
    if (ms_idle(tape) || tape->hooks.saved_top == MS_NONE)
        return;
    const ms_saved_hooks hooks = tape->hooks.saved.items[tape->hooks.saved_top];
    if (hooks.pack != refill)
        return;
    const ms_checkpoints *all = hooks.context;
    const ms_stored_weights *frame = &all->rows.items[hooks.number];
    for (int k = 0; k < 2; k++)
        visit(tape, ms_info(tape, tensors[k])->node, frame->first_node);
    for (uint32_t i = tape->nodes.count; i-- > frame->first_node;) {
        const ms_node *node = &tape->nodes.items[i];
        if (!node->visited)
            continue;
        keep_saved(tape, all, frame, node, kept);
        for (uint32_t e = 0; e < node->edge_count; e++)
            visit(tape, node->edges[e].node, frame->first_node);
    }
}

/* ---- the hooks of a checkpoint ---- */

static bool hold(ms_tape *tape, void *context, uint32_t number, ms_tensor tensor, uint32_t *packed)
{
    ms_checkpoints *all = context;
    ms_stored_weights *frame = &all->rows.items[number];
    *packed = frame->holder_count++;
    frame->live_holders++;
    if (frame->kept_op_count)
        ms_selective_save(tape, all, number, tensor);
    return true;
}

static ms_tensor unpack(ms_tape *tape, void *context, uint32_t number, uint32_t packed)
{
    ms_checkpoints *all = context;
    if (!all->rows.items[number].is_recomputed)
        recompute(tape, all, number);
    if (tape->status != MS_OK)
        return 0;
    ms_tensor *slot = &all->recomputed.items[all->rows.items[number].first_recomputed + packed];
    ms_tensor tensor = *slot;
    *slot = 0; /* the reference moves to the node */
    return tensor;
}

static void drop(ms_tape *tape, void *context, uint32_t number, uint32_t holders)
{
    ms_checkpoints *all = context;
    ms_stored_weights *checkpoint = &all->rows.items[number];
    checkpoint->live_holders -= holders;
    if (checkpoint->live_holders == 0) {
        ms_selective_drop(tape, all, checkpoint);
        for (uint32_t i = 0; i < MS_MAX_KEPT_ARGUMENTS; i++)
            ms_release(tape, checkpoint->held[i]);
        ms_release(tape, checkpoint->random_state);
        ms_graph_note_forgotten(tape, checkpoint->input);
        ms_release(tape, checkpoint->input);
        ms_release(tape, checkpoint->positional);
        ms_shared_release(tape, checkpoint->shared);
        checkpoint->input = 0;
    }
}

/* The recomputation makes what this holder was for all the same. */
static void forget(ms_tape *tape, void *context, uint32_t number, uint32_t holder)
{
    ms_checkpoints *all = context;
    ms_stored_weights *frame = &all->rows.items[number];
    if (frame->dead_count++ == 0)
        frame->first_dead = all->dead.count;
    if (!ms_vec_push(&all->dead, holder))
        ms_tape_fail(tape, MS_ERR_NOMEM);
}

/* What goes to the host is no longer the frame's. */
static void send_arguments(ms_tape *tape, ms_stored_weights *frame, ms_input_place place)
{
    bool on_cpu = place == MS_INPUT_SAVED_ON_CPU;
    bool sent = on_cpu ? ms_save_on_cpu(tape, frame->input, &frame->input_slot)
                       : ms_offload_input(tape, frame->number, frame->input, &frame->input_slot);
    if (sent)
        frame->input = 0;
    if (on_cpu && frame->positional &&
        ms_save_on_cpu(tape, frame->positional, &frame->positional_slot))
        frame->positional = 0;
}

static ms_tensor run_non_reentrant(ms_tape *tape, ms_checkpoints *all, ms_stored_weights frame,
                                   ms_input_place place)
{
    uint32_t index = all->rows.count;
    ms_tensor input = frame.input;
    frame.random_state = ms_host_random_state(tape);
    frame.live_holders = 1;
    ms_mark_saved(tape, input);
    for (uint32_t i = 0; i < MS_MAX_KEPT_ARGUMENTS && frame.saves_held; i++)
        if (frame.held[i])
            ms_mark_saved(tape, frame.held[i]);
    if (place != MS_INPUT_ON_DEVICE)
        send_arguments(tape, &frame, place);
    if (!ms_vec_push(&all->rows, frame)) {
        ms_tape_fail(tape, MS_ERR_NOMEM);
        return 0;
    }
    ms_retain(tape, frame.input);
    ms_retain(tape, frame.positional);
    ms_shared_retain(frame.shared);
    for (uint32_t i = 0; i < MS_MAX_KEPT_ARGUMENTS; i++)
        ms_retain(tape, frame.held[i]);
    ms_hooks_push_saved(tape, (ms_saved_hooks){.pack = hold,
                                               .unpack = unpack,
                                               .drop = drop,
                                               .forget = forget,
                                               .context = all,
                                               .number = index,
                                               .saving = MS_SAVING_NOTHING});
    if (frame.kept_op_count)
        ms_selective_begin(tape, all, index);
    ms_tensor result = frame.region(tape, frame.context, frame.number, input);
    if (frame.kept_op_count) {
        ms_selective_end(tape);
        ms_selective_check(tape, all, &all->rows.items[index]);
    }
    ms_hooks_pop_saved(tape);
    if (all->rows.items[index].live_holders == 1) /* nothing that was saved waits for backward */
        ms_save_in_passing(tape, input);
    drop(tape, all, index, 1);
    return result;
}

static void reentrant_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    const ms_checkpoints *all = ms_hooks_find_state(tape, &kind);
    ms_stored_weights frame = all->rows.items[node->numbers[0]];
    const ms_region region = {
        .run = frame.region, .context = frame.context, .number = frame.number};
    const ms_tensor_info input = *ms_info(tape, node->saved[0]);
    ms_tensor detached = ms_alias(tape, node->saved[0], input.shape, input.strides);
    ms_graph_end end = ms_graph_end_of(tape);
    out[0] = ms_rerun(tape, &region, detached, grads[0], MS_RERUN_DROPS_CASTS);
    ms_graph_cut(tape, end);
}

static const ms_op reentrant_op = {NULL, "CheckpointFunctionBackward", reentrant_backward};

/* The node keeps the function and with it the keyword arguments; nothing releases them early. */
static ms_tensor run_reentrant(ms_tape *tape, ms_checkpoints *all, ms_stored_weights frame)
{
    uint32_t node = ms_record(tape, &reentrant_op, 1, &frame.input);
    uint64_t index = all->rows.count;
    if (!ms_vec_push(&all->rows, frame))
        ms_tape_fail(tape, MS_ERR_NOMEM);
    ms_node_numbers(tape, node, 1, &index);
    ms_save(tape, node, frame.input);
    ms_save(tape, node, frame.positional);
    for (uint32_t i = 0; i < MS_MAX_KEPT_ARGUMENTS; i++)
        ms_graph_hold(tape, frame.held[i]);
    tape->grad_enabled = false;
    ms_tensor result = frame.region(tape, frame.context, frame.number, frame.input);
    tape->grad_enabled = true;
    ms_attach(tape, node, 1, &result);
    return result;
}

ms_tensor ms_checkpoint_run_with(ms_tape *tape, const ms_region *region,
                                 const ms_checkpoint_options *options, ms_tensor input)
{
    if (ms_idle(tape) || !input)
        return 0;
    ms_checkpoints *all = ms_hooks_state(tape, &kind);
    if (!all)
        return 0;
    bool is_reentrant = all->kind == MS_CHECKPOINT_REENTRANT;
    if (!tape->grad_enabled || (is_reentrant && !ms_info(tape, input)->requires_grad))
        return region->run(tape, region->context, region->number, input);
    ms_stored_weights frame = {.region = region->run,
                               .context = region->context,
                               .number = region->number,
                               .input = input,
                               .positional = region->positional ? *region->positional : 0,
                               .positional_at = region->positional,
                               .shared = region->shared,
                               .input_slot = MS_NONE,
                               .positional_slot = MS_NONE,
                               .kept_ops = options->kept_ops,
                               .kept_op_count = options->kept_op_count,
                               .first_kept = all->kept.count,
                               .saves_held = region->saves_held,
                               .scope = tape->scope};
    memcpy(frame.held, region->held, sizeof frame.held);
    return is_reentrant ? run_reentrant(tape, all, frame)
                        : run_non_reentrant(tape, all, frame, options->input_place);
}

ms_tensor ms_checkpoint_run(ms_tape *tape, const ms_region *region, ms_tensor input)
{
    return ms_checkpoint_run_with(tape, region, &(ms_checkpoint_options){0}, input);
}
