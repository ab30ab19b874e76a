/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "torch/autograd/rerun.h"

#include "torch/autograd/engine.h"
#include "torch/autograd/graph.h"

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

void ms_shared_retain(ms_shared_arguments *shared)
{
    if (shared)
        shared->references++;
}

void ms_shared_release(ms_tape *tape, ms_shared_arguments *shared)
{
    if (!shared || --shared->references > 0)
        return;
    for (uint32_t i = 0; i < shared->items.count; i++)
        ms_release(tape, shared->items.items[i]);
    shared->items.count = 0;
}

ms_rerun_mode ms_rerun_begin(ms_tape *tape)
{
    ms_rerun_mode mode = {tape->pass, tape->has_autocast};
    tape->pass = MS_PASS_RECOMPUTE;
    tape->in_backward = false;
    tape->grad_enabled = true;
    tape->has_autocast = tape->options.has_autocast;
    return mode;
}

void ms_rerun_end(ms_tape *tape, ms_rerun_mode mode)
{
    tape->has_autocast = mode.had_autocast;
    tape->grad_enabled = false;
    tape->in_backward = true;
    tape->pass = mode.pass;
}

ms_tensor ms_rerun(ms_tape *tape, const ms_region *region, ms_tensor input, ms_tensor grad,
                   ms_rerun_casts casts)
{
    if (ms_idle(tape) || !input)
        return 0;
    uint32_t leaf = ms_leaf_add(tape, input), graph_leaves = tape->graph_leaves;
    ms_rerun_mode mode = ms_rerun_begin(tape);
    ms_tensor result = region->run(tape, region->context, region->number, input);
    if (tape->has_autocast && casts == MS_RERUN_DROPS_CASTS)
        ms_autocast_clear(tape);
    ms_rerun_end(tape, mode);
    ms_retain(tape, result);
    ms_backward(tape, result, grad);
    ms_release(tape, result);
    ms_graph_drop_leaves(tape, graph_leaves);
    if (tape->parameters.count <= leaf)
        return 0;
    ms_tensor input_grad = ms_unown(tape, tape->parameters.items[leaf].grad);
    ms_release(tape, input);
    tape->parameters.count = leaf;
    return input_grad;
}
