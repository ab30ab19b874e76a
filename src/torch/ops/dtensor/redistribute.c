/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Redistributions with their gradients. A gradient that is the same on all ranks, or one rank's
 * part already, passes as it is.
 */
#include "torch/ops/dtensor/dtensor.h"

#include "torch/ops/ops.h"

static void pass_on(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    (void)tape;
    (void)node;
    out[0] = grads[0];
}

typedef ms_tensor (*redistribution)(ms_tape *tape, ms_tensor x, uint64_t number);

/* One node: forward by `run`. */
static ms_tensor redistribute(ms_tape *tape, const ms_op *op, ms_tensor x, redistribution run,
                              uint64_t number)
{
    if (ms_idle(tape) || !x) {
        ms_consume(tape, x);
        return 0;
    }
    ms_op_mark mark = ms_op_begin(tape, op);
    uint32_t node = ms_record(tape, op, 1, &x);
    ms_node_numbers(tape, node, 1, &number);
    ms_retain(tape, x);
    ms_tensor out = run(tape, x, number);
    ms_unown(tape, x);
    return ms_op_finish(tape, mark, node, 1, &x, out);
}

/* ---- a tensor that all ranks have ---- */

static ms_tensor enter(ms_tape *tape, ms_tensor x, uint64_t number)
{
    (void)number;
    const ms_tensor_info info = *ms_info(tape, x);
    return ms_alias(tape, x, info.shape, info.strides);
}

static void enter_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    (void)node;
    out[0] = ms_mesh_all_reduce(tape, grads[0]);
}

static const ms_op enter_op = {"from_local", "_FromTorchTensorBackward", enter_backward};

ms_tensor ms_mesh_enter(ms_tape *tape, ms_tensor x)
{
    return redistribute(tape, &enter_op, x, enter, 0);
}

/* ---- a rank's part ---- */

static const ms_op own_op = {"from_local", "_FromTorchTensorBackward", pass_on};

ms_tensor ms_mesh_own(ms_tape *tape, ms_tensor x)
{
    return redistribute(tape, &own_op, x, enter, 0);
}

/* ---- tokens ---- */

static ms_tensor gather_tokens(ms_tape *tape, ms_tensor x, uint64_t number)
{
    (void)number;
    return ms_mesh_all_gather(tape, x, 1);
}

static void gather_tokens_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads,
                                   ms_tensor *out)
{
    out[0] = ms_mesh_reduce_scatter(tape, grads[0], 1, (ms_mesh_wait)node->numbers[0]);
}

static const ms_op gather_tokens_op = {"all_gather_into_tensor", "RedistributeBackward",
                                       gather_tokens_backward};

ms_tensor ms_mesh_gather_tokens(ms_tape *tape, ms_tensor x, bool at_once)
{
    bool outer = tape->is_distributed;
    tape->is_distributed = true;
    ms_tensor out = redistribute(tape, &gather_tokens_op, x, gather_tokens,
                                 at_once ? MS_WAITS_NOW : MS_WAITS_FOR_OPERATOR);
    tape->is_distributed = outer;
    return out;
}

/* ---- partial sums ---- */

static ms_tensor sum(ms_tape *tape, ms_tensor x, uint64_t number)
{
    (void)number;
    return ms_mesh_all_reduce(tape, x);
}

static const ms_op sum_op = {"all_reduce", "RedistributeBackward", pass_on};

ms_tensor ms_mesh_sum(ms_tape *tape, ms_tensor x)
{
    return redistribute(tape, &sum_op, x, sum, 0);
}

static ms_tensor sum_tokens(ms_tape *tape, ms_tensor x, uint64_t number)
{
    return ms_mesh_reduce_scatter(tape, x, 1, (ms_mesh_wait)number);
}

static void sum_tokens_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads,
                                ms_tensor *out)
{
    (void)node;
    out[0] = ms_mesh_all_gather(tape, grads[0], 1);
}

static const ms_op sum_tokens_op = {"reduce_scatter_tensor", "RedistributeBackward",
                                    sum_tokens_backward};

ms_tensor ms_mesh_sum_tokens(ms_tape *tape, ms_tensor x, ms_mesh_wait wait)
{
    return redistribute(tape, &sum_tokens_op, x, sum_tokens, wait);
}

/* ---- the last dimension ---- */

static ms_tensor gather_last(ms_tape *tape, ms_tensor x, uint64_t number)
{
    (void)number;
    return ms_mesh_all_gather(tape, x, ms_info(tape, x)->shape.rank - 1);
}

/* This rank's part, a copy. */
static void gather_last_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads,
                                 ms_tensor *out)
{
    out[0] = ms_empty(tape, ms_input_meta(tape, node, 0)->shape,
                      (ms_dtype)ms_info(tape, grads[0])->dtype);
}

static const ms_op gather_last_op = {"all_gather_into_tensor", "RedistributeBackward",
                                     gather_last_backward};

ms_tensor ms_mesh_gather_last(ms_tape *tape, ms_tensor x)
{
    return redistribute(tape, &gather_last_op, x, gather_last, 0);
}
