/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "torch/autograd/hooks.h"

#include <stdlib.h>

#include "torch/autograd/tape.h"

/* ---- state ---- */

void *ms_hooks_find_state(const ms_tape *tape, const ms_state_kind *kind)
{
    for (uint32_t i = 0; i < tape->hooks.states.count; i++)
        if (tape->hooks.states.items[i].kind == kind)
            return tape->hooks.states.items[i].state;
    return NULL;
}

void *ms_hooks_state(ms_tape *tape, const ms_state_kind *kind)
{
    void *state = ms_hooks_find_state(tape, kind);
    if (state)
        return state;
    state = calloc(1, kind->bytes);
    if (!state || !ms_vec_push(&tape->hooks.states, (ms_tape_state){kind, state})) {
        free(state);
        ms_tape_fail(tape, MS_ERR_NOMEM);
        return NULL;
    }
    if (kind->install)
        kind->install(tape, state);
    return state;
}

void ms_hooks_drop_graph(ms_tape *tape)
{
    tape->hooks.saved.count = 0;
    tape->hooks.saved_top = MS_NONE;
    for (uint32_t i = 0; i < tape->hooks.states.count; i++) {
        ms_tape_state row = tape->hooks.states.items[i];
        if (row.kind->drop_graph)
            row.kind->drop_graph(row.state);
    }
}

void ms_hooks_free(ms_hooks *hooks)
{
    for (uint32_t i = 0; i < hooks->states.count; i++) {
        ms_tape_state row = hooks->states.items[i];
        if (row.kind->free)
            row.kind->free(row.state);
        free(row.state);
    }
    ms_vec_free(&hooks->states);
    ms_vec_free(&hooks->saved);
    ms_vec_free(&hooks->modules);
    ms_vec_free(&hooks->gradients);
    ms_vec_free(&hooks->operators);
}

/* ---- saved tensors ---- */

void ms_hooks_push_saved(ms_tape *tape, ms_saved_hooks hooks)
{
    hooks.below = tape->hooks.saved_top;
    if (!ms_vec_push(&tape->hooks.saved, hooks)) {
        ms_tape_fail(tape, MS_ERR_NOMEM);
        return;
    }
    tape->hooks.saved_top = tape->hooks.saved.count - 1;
}

void ms_hooks_pop_saved(ms_tape *tape)
{
    if (tape->hooks.saved_top != MS_NONE)
        tape->hooks.saved_top = tape->hooks.saved.items[tape->hooks.saved_top].below;
}

ms_saving ms_hooks_saving(const ms_tape *tape)
{
    uint32_t top = tape->hooks.saved_top;
    return top == MS_NONE ? MS_SAVING_TENSORS : tape->hooks.saved.items[top].saving;
}

bool ms_hooks_pack(ms_tape *tape, ms_tensor tensor, uint32_t *packed)
{
    if (tape->hooks.saved_top == MS_NONE)
        return false;
    ms_saved_hooks top = tape->hooks.saved.items[tape->hooks.saved_top];
    return top.pack(tape, top.context, top.number, tensor, packed);
}

/* ---- modules ---- */

void ms_hooks_push_module(ms_tape *tape, ms_module_hooks hooks)
{
    if (!ms_vec_push(&tape->hooks.modules, hooks))
        ms_tape_fail(tape, MS_ERR_NOMEM);
}

void ms_hooks_forward_begins(ms_tape *tape, uint32_t scope)
{
    for (uint32_t i = 0; i < tape->hooks.modules.count; i++) {
        ms_module_hooks hooks = tape->hooks.modules.items[i];
        if (hooks.before_forward)
            hooks.before_forward(tape, hooks.context, scope);
    }
}

void ms_hooks_forward_ends(ms_tape *tape, uint32_t scope)
{
    for (uint32_t i = 0; i < tape->hooks.modules.count; i++) {
        ms_module_hooks hooks = tape->hooks.modules.items[i];
        if (hooks.after_forward)
            hooks.after_forward(tape, hooks.context, scope);
    }
}

void ms_hooks_backward_moves(ms_tape *tape, uint32_t from, uint32_t to)
{
    for (uint32_t i = tape->hooks.modules.count; i-- > 0;) {
        ms_module_hooks hooks = tape->hooks.modules.items[i];
        if (from != MS_NONE && hooks.after_backward)
            hooks.after_backward(tape, hooks.context, from);
        if (to != MS_NONE && hooks.before_backward)
            hooks.before_backward(tape, hooks.context, to);
    }
}

void ms_hooks_backward_ends(ms_tape *tape)
{
    for (uint32_t i = tape->hooks.modules.count; i-- > 0;) {
        ms_module_hooks hooks = tape->hooks.modules.items[i];
        if (hooks.after_backward)
            hooks.after_backward(tape, hooks.context, MS_NONE);
    }
}

void ms_hooks_node_begins(ms_tape *tape, uint32_t scope, const ms_op *op)
{
    for (uint32_t i = tape->hooks.modules.count; i-- > 0;) {
        ms_module_hooks hooks = tape->hooks.modules.items[i];
        if (hooks.before_node)
            hooks.before_node(tape, hooks.context, scope, op);
    }
}

/* ---- gradients ---- */

void ms_hooks_push_gradient(ms_tape *tape, ms_gradient_hook hook)
{
    if (!ms_vec_push(&tape->hooks.gradients, hook))
        ms_tape_fail(tape, MS_ERR_NOMEM);
}

void ms_hooks_pop_gradient(ms_tape *tape)
{
    if (tape->hooks.gradients.count)
        tape->hooks.gradients.count--;
}

void ms_hooks_accumulated(ms_tape *tape, uint32_t parameter)
{
    for (uint32_t i = 0; i < tape->hooks.gradients.count; i++) {
        ms_gradient_hook hook = tape->hooks.gradients.items[i];
        hook.accumulated(tape, hook.context, parameter);
    }
}

/* ---- operators ---- */

void ms_hooks_push_op(ms_tape *tape, ms_op_hooks hooks)
{
    if (!ms_vec_push(&tape->hooks.operators, hooks))
        ms_tape_fail(tape, MS_ERR_NOMEM);
}

void ms_hooks_pop_op(ms_tape *tape)
{
    if (tape->hooks.operators.count)
        tape->hooks.operators.count--;
}

void ms_hooks_op_begins(ms_tape *tape, const ms_op *op)
{
    for (uint32_t i = 0; i < tape->hooks.operators.count; i++) {
        ms_op_hooks hooks = tape->hooks.operators.items[i];
        hooks.begin(tape, hooks.context, hooks.number, op);
    }
}

void ms_hooks_op_ends(ms_tape *tape)
{
    for (uint32_t i = tape->hooks.operators.count; i-- > 0;) {
        ms_op_hooks hooks = tape->hooks.operators.items[i];
        if (hooks.end)
            hooks.end(tape, hooks.context, hooks.number);
    }
}
