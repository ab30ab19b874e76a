/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Division of tensors: backward divides the gradient, and of a divisor that needs one it makes the
 * quotient again.
 */
#include "torch/ops/ops.h"

enum { DIVISOR, DIVIDED }; /* saved, the latter where the divisor needs a gradient */

/* -grad * ((a / b) / b) */
static ms_tensor divisor_gradient(ms_tape *tape, ms_tensor grad, ms_tensor a, ms_tensor b)
{
    ms_dtype dtype = (ms_dtype)ms_info(tape, grad)->dtype;
    ms_tensor quotient = ms_elementwise_out(tape, 2, (ms_tensor[]){a, b}, dtype);
    ms_tensor again = ms_idle(tape) ? 0 : ms_empty_like(tape, quotient, dtype);
    ms_tensor negated = ms_empty_like(tape, grad, dtype);
    ms_tensor result =
        ms_idle(tape) ? 0 : ms_elementwise_out(tape, 2, (ms_tensor[]){negated, again}, dtype);
    ms_consume(tape, negated);
    ms_consume(tape, again);
    ms_consume(tape, quotient);
    return result;
}

static void div_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    ms_tensor a = node->saved_count > DIVIDED ? node->saved[DIVIDED] : 0;
    if (a)
        out[1] = divisor_gradient(tape, grads[0], a, node->saved[DIVISOR]);
    if (ms_node_wants(node, 0) && !ms_idle(tape))
        out[0] = ms_empty_like(tape, grads[0], (ms_dtype)ms_info(tape, grads[0])->dtype);
}

static const ms_op div_op = {"div", "DivBackward0", div_backward};

ms_tensor ms_div(ms_tape *tape, ms_tensor a, ms_tensor b)
{
    if (ms_idle(tape) || !a || !b) {
        ms_consume(tape, a);
        ms_consume(tape, b);
        return 0;
    }
    ms_op_mark mark = ms_op_begin(tape, &div_op);
    ms_tensor inputs[] = {a, b};
    uint32_t node = ms_record(tape, &div_op, 2, inputs);
    ms_dtype dtype = (ms_dtype)ms_info(tape, a)->dtype;
    ms_save(tape, node, b);
    if (ms_needs_grad(tape, b))
        ms_save(tape, node, a);
    bool is_cast = tape->on_cpu && ms_info(tape, b)->dtype != dtype;
    ms_tensor copy = is_cast ? ms_empty_like(tape, b, dtype) : 0;
    ms_tensor out = ms_empty_like(tape, a, dtype);
    ms_consume(tape, copy);
    return ms_op_finish(tape, mark, node, 2, inputs, out);
}
