/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * clamp: backward needs to know where the bounds applied.
 */
#include "torch/ops/ops.h"

/* With a Python number: on the CPU a tensor of 8 bytes and its copy in the dtype. */
static ms_tensor compare(ms_tape *tape, ms_tensor a)
{
    ms_dtype dtype = (ms_dtype)ms_info(tape, a)->dtype;
    ms_tensor wrapped = tape->on_cpu ? ms_empty_bytes(tape, 8, MS_DTYPE_F64) : 0;
    ms_tensor copy = tape->on_cpu ? ms_empty_bytes(tape, ms_dtype_bytes(dtype), dtype) : 0;
    ms_tensor out = ms_elementwise_out(tape, 1, &a, MS_DTYPE_BOOL);
    ms_consume(tape, copy);
    ms_consume(tape, wrapped);
    return out;
}

static void clamp_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    ms_tensor self = node->saved[0], within[2] = {0};
    ms_dtype dtype = (ms_dtype)ms_info(tape, grads[0])->dtype;
    ms_tensor zero = ms_empty_bytes(tape, ms_dtype_bytes(dtype), dtype);
    for (uint64_t i = 0; i < node->numbers[0]; i++) {
        within[i] = compare(tape, self);
    }
    out[0] = ms_elementwise_out(tape, 1, grads, dtype);
    ms_consume(tape, within[1]);
    ms_consume(tape, within[0]);
    ms_consume(tape, zero);
}

static const ms_op clamp_op = {"clamp", "ClampBackward1", clamp_backward};

ms_tensor ms_clamp(ms_tape *tape, ms_tensor a, uint32_t bounds)
{
    if (ms_idle(tape) || !a)
        return 0;
    ms_op_mark mark = ms_op_begin(tape, &clamp_op);
    uint32_t node = ms_record(tape, &clamp_op, 1, &a);
    ms_node_numbers(tape, node, 1, (uint64_t[]){bounds});
    ms_save(tape, node, a);
    ms_tensor out = ms_elementwise_out(tape, 1, &a, (ms_dtype)ms_info(tape, a)->dtype);
    return ms_op_finish(tape, mark, node, 1, &a, out);
}

/* ---- by tensors of one element, which have no gradient ---- */

static void clamp_between_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads,
                                   ms_tensor *out)
{
    ms_tensor self = node->saved[0];
    ms_dtype dtype = (ms_dtype)ms_info(tape, grads[0])->dtype;
    ms_tensor above = ms_elementwise_out(tape, 1, &self, MS_DTYPE_BOOL);
    ms_tensor below = ms_elementwise_out(tape, 1, &self, MS_DTYPE_BOOL);
    ms_tensor zero = ms_empty_bytes(tape, ms_dtype_bytes(dtype), dtype);
    out[0] = ms_elementwise_out(tape, 1, grads, dtype);
    ms_consume(tape, zero);
    ms_consume(tape, below);
    ms_consume(tape, above);
}

static const ms_op clamp_between_op = {"clamp", "ClampBackward0", clamp_between_backward};

ms_tensor ms_clamp_between(ms_tape *tape, ms_tensor a, ms_tensor least, ms_tensor most)
{
    if (ms_idle(tape) || !a)
        return 0;
    ms_op_mark mark = ms_op_begin(tape, &clamp_between_op);
    uint32_t node = ms_record(tape, &clamp_between_op, 1, &a);
    ms_save(tape, node, a);
    ms_save(tape, node, least);
    ms_save(tape, node, most);
    ms_tensor out = ms_elementwise_out(tape, 1, &a, (ms_dtype)ms_info(tape, a)->dtype);
    return ms_op_finish(tape, mark, node, 1, &a, out);
}
