/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Activation checkpointing.
 *
 * Non-reentrant: in forward every saved tensor of the region becomes an empty holder, and the
 * region's input is kept. The first holder that backward unpacks runs the region again; its saved
 * tensors fill the holders in order, and the last one stops it. Each tensor goes with the node that
 * unpacked it; the input goes with the last holder. An input on the host comes back for the
 * recomputation and goes with it.
 *
 * Reentrant: forward runs without a graph; backward runs the region again with one, on a detached
 * input, and a nested backward through it.
 */
#include "autograd/engine.h"

#include <string.h>

#include "trace/build.h"

/* Kept so that recomputation draws the same numbers. */
ms_tensor ms_host_random_state(ms_tape *tape)
{
    enum { STATE_BYTES = 5056 };
    ms_tensor state = tape->on_cpu ? ms_empty_bytes(tape, STATE_BYTES, MS_DTYPE_U8) : 0;
    ms_retain(tape, state);
    return state;
}

void ms_autocast_clear(ms_tape *tape)
{
    for (uint32_t i = 0; i < tape->casts.count; i++) {
        ms_cast cast = tape->casts.items[i];
        ms_release(tape, cast.tensor);
        if (cast.parameter < tape->parameters.count) /* else a rerun's input, gone already */
            tape->parameters.items[cast.parameter].cast = 0;
    }
    tape->casts.count = 0;
}

/* The graph that recomputation made goes; only Python numbers are saved in its nodes themselves. */
static void drop_numbers(ms_tape *tape, uint32_t first_node)
{
    for (uint32_t i = first_node; i < tape->nodes.count; i++)
        for (uint32_t k = 0; k < tape->nodes.items[i].saved_count; k++)
            ms_release(tape, tape->nodes.items[i].saved[k]);
}

ms_rerun_mode ms_rerun_begin(ms_tape *tape)
{
    ms_rerun_mode mode = {tape->pass, tape->has_autocast};
    tape->pass = MS_PASS_RECOMPUTE;
    tape->in_backward = false;
    tape->grad_enabled = true;
    tape->has_autocast = tape->run->autocast != MS_AUTOCAST_NONE;
    return mode;
}

void ms_rerun_end(ms_tape *tape, ms_rerun_mode mode)
{
    tape->has_autocast = mode.had_autocast;
    tape->grad_enabled = false;
    tape->in_backward = true;
    tape->pass = mode.pass;
}

/* The frame's arguments, those that are on the host back from there. */
typedef struct arguments {
    ms_tensor input, positional;
} arguments;

static arguments fetch_arguments(ms_tape *tape, const ms_checkpoint *frame)
{
    arguments a = {frame->input, frame->positional};
    if (frame->input_slot != MS_NONE)
        a.input = ms_offload_unpack(tape, frame->input_slot);
    if (frame->positional_slot != MS_NONE)
        a.positional = ms_offload_unpack(tape, frame->positional_slot);
    return a;
}

static void drop_arguments(ms_tape *tape, const ms_checkpoint *frame, arguments a)
{
    if (frame->input_slot != MS_NONE)
        ms_release(tape, a.input);
    if (frame->positional_slot != MS_NONE)
        ms_release(tape, a.positional);
}

/* The region once more, with the arguments in their places. */
static void run_again(ms_tape *tape, const ms_checkpoint *frame, arguments a)
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
    tape->recompute_frame = MS_NONE;
    ms_consume(tape, result);
}

static void recompute(ms_tape *tape, uint32_t index)
{
    ms_checkpoint frame = tape->checkpoints.items[index];
    arguments given = fetch_arguments(tape, &frame);
    if (ms_idle(tape))
        return;
    ms_graph_end end = ms_graph_end_of(tape);
    uint32_t first = tape->recomputed.count;
    for (uint32_t i = 0; i < frame.holder_count; i++)
        if (!ms_vec_push(&tape->recomputed, 0u))
            ms_tape_fail(tape, MS_ERR_NOMEM);
    tape->checkpoints.items[index].first_recomputed = first;
    tape->checkpoints.items[index].is_recomputed = true;
    ms_rerun_mode mode = ms_rerun_begin(tape);
    ms_tensor random_state = ms_host_random_state(tape);
    tape->recompute_frame = index;
    tape->op_counts.count = 0;
    run_again(tape, &frame, given);
    if (tape->has_autocast)
        ms_autocast_clear(tape);
    ms_release(tape, random_state);
    drop_arguments(tape, &frame, given);
    ms_rerun_end(tape, mode);
    drop_numbers(tape, end.nodes);
    ms_graph_cut(tape, end);
}

ms_tensor ms_checkpoint_unpack(ms_tape *tape, uint32_t frame, uint32_t index)
{
    if (!tape->checkpoints.items[frame].is_recomputed)
        recompute(tape, frame);
    if (tape->status != MS_OK)
        return 0;
    ms_tensor *slot =
        &tape->recomputed.items[tape->checkpoints.items[frame].first_recomputed + index];
    ms_tensor tensor = *slot;
    *slot = 0; /* the reference moves to the node */
    return tensor;
}

void ms_checkpoint_drop(ms_tape *tape, uint32_t frame, uint32_t holders)
{
    ms_checkpoint *checkpoint = &tape->checkpoints.items[frame];
    checkpoint->live_holders -= holders;
    if (checkpoint->live_holders == 0) {
        ms_selective_drop(tape, checkpoint);
        for (uint32_t i = 0; i < MS_MAX_HELD; i++)
            ms_release(tape, checkpoint->held[i]);
        ms_release(tape, checkpoint->random_state);
        ms_release(tape, checkpoint->input);
        ms_release(tape, checkpoint->positional);
        checkpoint->input = 0;
    }
}

/* What goes to the host is no longer the frame's. */
static void send_arguments(ms_tape *tape, ms_checkpoint *frame, ms_input_place place)
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

static ms_tensor run_non_reentrant(ms_tape *tape, ms_checkpoint frame, ms_input_place place)
{
    uint32_t index = tape->checkpoints.count;
    ms_tensor input = frame.input;
    frame.random_state = ms_host_random_state(tape);
    ms_mark_saved(tape, input);
    if (place != MS_INPUT_ON_DEVICE)
        send_arguments(tape, &frame, place);
    if (!ms_vec_push(&tape->checkpoints, frame)) {
        ms_tape_fail(tape, MS_ERR_NOMEM);
        return 0;
    }
    ms_retain(tape, frame.input);
    ms_retain(tape, frame.positional);
    for (uint32_t i = 0; i < MS_MAX_HELD; i++)
        ms_retain(tape, frame.held[i]);
    tape->saving_frame = index;
    tape->op_counts.count = 0;
    ms_tensor result = frame.region(tape, frame.context, frame.number, input);
    tape->saving_frame = MS_NONE;
    return result;
}

uint32_t ms_leaf_add(ms_tape *tape, ms_tensor input)
{
    uint32_t leaf = tape->parameters.count;
    ms_retain(tape, input);
    if (!ms_vec_push(&tape->parameters, (ms_parameter){.tensor = input, .scope = MS_NONE})) {
        ms_tape_fail(tape, MS_ERR_NOMEM);
        return leaf;
    }
    ms_info(tape, input)->leaf = leaf;
    ms_info(tape, input)->requires_grad = true;
    return leaf;
}

ms_tensor ms_rerun(ms_tape *tape, const ms_region *region, ms_tensor input, ms_tensor grad,
                   ms_rerun_casts casts)
{
    if (ms_idle(tape) || !input)
        return 0;
    uint32_t leaf = ms_leaf_add(tape, input);
    ms_rerun_mode mode = ms_rerun_begin(tape);
    ms_tensor result = region->run(tape, region->context, region->number, input);
    if (tape->has_autocast && casts == MS_RERUN_DROPS_CASTS)
        ms_autocast_clear(tape);
    ms_rerun_end(tape, mode);
    ms_retain(tape, result);
    ms_backward(tape, result, grad);
    ms_release(tape, result);
    if (tape->parameters.count <= leaf)
        return 0;
    ms_tensor input_grad = ms_unown(tape, tape->parameters.items[leaf].grad);
    ms_release(tape, input);
    tape->parameters.count = leaf;
    return input_grad;
}

ms_graph_end ms_graph_end_of(const ms_tape *tape)
{
    return (ms_graph_end){tape->nodes.count, tape->metas.count, tape->buffers.count,
                          tape->graph_holds.count};
}

void ms_graph_cut(ms_tape *tape, ms_graph_end end)
{
    tape->nodes.count = end.nodes;
    tape->metas.count = end.metas;
    tape->buffers.count = end.buffers;
    while (tape->graph_holds.count > end.holds)
        ms_release(tape, tape->graph_holds.items[--tape->graph_holds.count]);
}

static void reentrant_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    ms_checkpoint frame = tape->checkpoints.items[node->numbers[0]];
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
void ms_graph_hold(ms_tape *tape, ms_tensor tensor)
{
    if (!tensor)
        return;
    ms_retain(tape, tensor);
    if (!ms_vec_push(&tape->graph_holds, tensor))
        ms_tape_fail(tape, MS_ERR_NOMEM);
}

void ms_graph_hold_activation(ms_tape *tape, ms_tensor tensor)
{
    if (ms_idle(tape) || !tensor)
        return;
    ms_trace_hold(tape->trace, ms_info(tape, tensor)->storage);
    ms_graph_hold(tape, tensor);
}

void ms_require_grad(ms_tape *tape, ms_tensor tensor)
{
    if (ms_idle(tape) || !tensor || !tape->grad_enabled || ms_info(tape, tensor)->requires_grad)
        return;
    uint32_t leaf = ms_leaf_add(tape, tensor);
    if (tape->status != MS_OK)
        return;
    tape->parameters.items[leaf].scope = tape->scope;
    tape->parameters.items[leaf].name = ms_tape_name(tape, "grad");
    tape->graph_leaves++;
}

/* Their gradients go with the graph. */
static void drop_leaves(ms_tape *tape)
{
    for (; tape->graph_leaves > 0; tape->graph_leaves--) {
        ms_parameter *leaf = &tape->parameters.items[--tape->parameters.count];
        ms_release(tape, leaf->grad);
        ms_release(tape, leaf->tensor);
    }
}

void ms_graph_drop(ms_tape *tape)
{
    drop_leaves(tape);
    while (tape->graph_holds.count)
        ms_release(tape, tape->graph_holds.items[--tape->graph_holds.count]);
    tape->nodes.count = tape->metas.count = tape->buffers.count = 0;
    tape->checkpoints.count = tape->recomputed.count = tape->kept.count = 0;
    tape->tiled_attentions.count = 0;
    tape->offloads.count = tape->sent_pieces.count = tape->sent_slots.count = 0;
    tape->next_return = 0;
}

static ms_tensor run_reentrant(ms_tape *tape, ms_checkpoint frame)
{
    uint32_t node = ms_record(tape, &reentrant_op, 1, &frame.input);
    uint64_t index = tape->checkpoints.count;
    if (!ms_vec_push(&tape->checkpoints, frame))
        ms_tape_fail(tape, MS_ERR_NOMEM);
    ms_node_numbers(tape, node, 1, &index);
    ms_save(tape, node, frame.input);
    ms_save(tape, node, frame.positional);
    for (uint32_t i = 0; i < MS_MAX_HELD; i++)
        ms_graph_hold(tape, frame.held[i]);
    tape->grad_enabled = false;
    ms_tensor result = frame.region(tape, frame.context, frame.number, frame.input);
    tape->grad_enabled = true;
    ms_attach(tape, node, 1, &result);
    return result;
}

ms_tensor ms_checkpoint_run(ms_tape *tape, const ms_region *region, ms_tensor input)
{
    if (ms_idle(tape) || !input)
        return 0;
    bool is_reentrant = tape->run->checkpoint_kind == MS_CHECKPOINT_REENTRANT;
    if (!tape->grad_enabled || (is_reentrant && !ms_info(tape, input)->requires_grad))
        return region->run(tape, region->context, region->number, input);
    ms_checkpoint frame = {.region = region->run,
                           .context = region->context,
                           .number = region->number,
                           .input = input,
                           .positional = region->positional ? *region->positional : 0,
                           .positional_at = region->positional,
                           .input_slot = MS_NONE,
                           .positional_slot = MS_NONE,
                           .kept_ops = region->kept_ops,
                           .kept_op_count = region->kept_op_count,
                           .first_kept = tape->kept.count,
                           .scope = tape->scope};
    memcpy(frame.held, region->held, sizeof frame.held);
    return is_reentrant ? run_reentrant(tape, frame)
                        : run_non_reentrant(tape, frame, region->input_place);
}
