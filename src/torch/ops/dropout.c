/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "torch/ops/ops.h"

static void dropout_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    (void)node;
    out[0] = ms_empty_like(tape, grads[0], (ms_dtype)ms_info(tape, grads[0])->dtype);
}

static const ms_op dropout_op = {"native_dropout", "NativeDropoutBackward0", dropout_backward};
static const ms_op cpu_dropout_op = {"dropout", "MulBackward0", dropout_backward};

/* CUDA: one kernel that makes the mask, a byte an element, and the output. CPU: the input times
 * noise of its own dtype. */
ms_tensor ms_dropout(ms_tape *tape, ms_tensor x, double p)
{
    if (p <= 0 || tape->is_evaluating || ms_idle(tape) || !x)
        return x;
    const ms_op *op = tape->on_cpu ? &cpu_dropout_op : &dropout_op;
    ms_op_mark mark = ms_op_begin(tape, op);
    ms_op_draws(tape, mark);
    uint32_t node = ms_record(tape, op, 1, &x);
    ms_dtype dtype = (ms_dtype)ms_info(tape, x)->dtype;
    ms_tensor mask = ms_empty_like(tape, x, tape->on_cpu ? dtype : MS_DTYPE_BOOL);
    ms_tensor out = ms_empty_like(tape, x, dtype);
    ms_save(tape, node, mask);
    ms_op_operand(tape, mark, mask, true);
    ms_consume(tape, mask);
    return ms_op_finish(tape, mark, node, 1, &x, out);
}
