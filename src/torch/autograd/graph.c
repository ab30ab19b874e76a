/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "torch/autograd/graph.h"

#include "core/trace/build.h"

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

void ms_graph_note_forgotten(ms_tape *tape, ms_tensor tensor)
{
    if (tape->is_forgetting && tensor &&
        !ms_vec_push(&tape->forgotten, ms_info(tape, tensor)->storage))
        ms_tape_fail(tape, MS_ERR_NOMEM);
}

static void forget_packed(ms_tape *tape, const ms_node *node)
{
    const ms_saved_hooks hooks = tape->hooks.saved.items[node->hooks];
    uint32_t packed = 0;
    for (uint32_t i = 0; i < node->saved_count; i++) {
        if (node->packed[i] == MS_NONE)
            continue;
        packed++;
        if (hooks.forget)
            hooks.forget(tape, hooks.context, hooks.number, node->packed[i]);
    }
    if (packed && hooks.drop)
        hooks.drop(tape, hooks.context, hooks.number, packed);
}

static void forget_node(ms_tape *tape, ms_node *node)
{
    for (uint32_t i = 0; i < node->saved_count; i++) {
        if (node->packed[i] != MS_NONE)
            continue;
        ms_graph_note_forgotten(tape, node->saved[i]);
        ms_release(tape, node->saved[i]);
    }
    if (node->hooks != MS_NONE)
        forget_packed(tape, node);
    node->saved_count = 0;
}

void ms_graph_forget(ms_tape *tape, uint32_t first, uint32_t end)
{
    tape->is_forgetting = true;
    for (uint32_t i = end; i-- > first;)
        forget_node(tape, &tape->nodes.items[i]);
    tape->is_forgetting = false;
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
    tape->parameters.items[leaf].is_of_graph = true;
    tape->graph_leaves++;
}

void ms_graph_drop_leaves(ms_tape *tape, uint32_t kept)
{
    for (; tape->graph_leaves > kept; tape->graph_leaves--) {
        ms_parameter *leaf = &tape->parameters.items[--tape->parameters.count];
        ms_release(tape, leaf->grad);
        ms_release(tape, leaf->tensor);
    }
}

void ms_graph_drop(ms_tape *tape)
{
    ms_graph_drop_leaves(tape, 0);
    tape->forgotten.count = 0;
    while (tape->graph_holds.count)
        ms_release(tape, tape->graph_holds.items[--tape->graph_holds.count]);
    tape->nodes.count = tape->metas.count = tape->buffers.count = 0;
    ms_hooks_drop_graph(tape);
}
