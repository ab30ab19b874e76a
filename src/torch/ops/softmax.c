/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "torch/ops/ops.h"

/* The CUDA kernel gets grad * output as a temporary. */
static void softmax_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    const ms_meta meta = *ms_input_meta(tape, node, 0);
    out[0] = ms_empty(tape, meta.shape, (ms_dtype)meta.dtype);
    if (!tape->on_cpu)
        ms_consume(tape,
                   ms_empty_like(tape, node->saved[0], (ms_dtype)ms_info(tape, grads[0])->dtype));
}

static const ms_op softmax_op = {"softmax", "SoftmaxBackward0", softmax_backward};

/* softmax in `result` dtype; a half input is converted inside the CUDA kernel. */
static ms_tensor softmax(ms_tape *tape, ms_tensor x, ms_dtype result)
{
    ms_op_mark mark = ms_op_begin(tape, &softmax_op);
    uint32_t node = ms_record(tape, &softmax_op, 1, &x);
    ms_tensor out = ms_empty(tape, ms_info(tape, x)->shape, result);
    ms_save(tape, node, out);
    return ms_op_finish(tape, mark, node, 1, &x, out);
}

ms_tensor ms_softmax_in(ms_tape *tape, ms_tensor x, ms_dtype dtype)
{
    if (ms_idle(tape) || !x) {
        ms_consume(tape, x);
        return 0;
    }
    ms_dtype from = (ms_dtype)ms_info(tape, x)->dtype;
    if (from == MS_DTYPE_F16 && dtype == MS_DTYPE_F32 && !tape->on_cpu)
        return softmax(tape, x, dtype);
    ms_retain(tape, x);
    ms_tensor out = softmax(tape, ms_to(tape, x, dtype), dtype);
    ms_consume(tape, ms_unown(tape, x));
    return out;
}

ms_tensor ms_softmax_last(ms_tape *tape, ms_tensor x, ms_dtype dtype)
{
    return ms_softmax_in(tape, x, tape->has_autocast && !tape->on_cpu ? MS_DTYPE_F32 : dtype);
}
