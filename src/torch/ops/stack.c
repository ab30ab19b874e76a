/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * PyTorch's node has an edge for each tensor, one here a few: a chain of nodes stands for it. All
 * of the chain runs before any of the tensors' own nodes, and hands on views of the gradient.
 */
#include "torch/ops/stack.h"

enum { EACH = MS_MAX_EDGES - 1 }; /* tensors of a node, beside the node before it */

/* A view of the gradient for each input: the new dimension is gone, or it is the whole. */
static void stack_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    const ms_tensor_info info = *ms_info(tape, grads[0]);
    uint64_t strides[MS_MAX_RANK] = {0};
    for (uint32_t i = 0; i + 1 < info.shape.rank; i++)
        strides[i] = info.strides[i < node->numbers[0] ? i : i + 1];
    for (uint32_t i = 0; i < node->edge_count; i++) {
        const ms_shape shape = ms_input_meta(tape, node, i)->shape;
        bool is_whole = shape.rank == info.shape.rank;
        if (ms_node_wants(node, i))
            out[i] = ms_alias(tape, grads[0], shape, is_whole ? info.strides : strides);
    }
}

static const ms_op stack_op = {"stack", "StackBackward0", stack_backward};

/* The next link over the tensors from `first` on: a view of the result, retained in place of the
 * link before (0: none). */
static ms_tensor add_link(ms_tape *tape, ms_tensor out, ms_tensor before, const ms_tensor *items,
                          uint32_t count, uint32_t dim)
{
    ms_tensor inputs[MS_MAX_EDGES];
    uint32_t inputs_count = 0;
    for (uint32_t i = 0; i < count; i++)
        inputs[inputs_count++] = items[i];
    if (before)
        inputs[inputs_count++] = before;
    const ms_tensor_info info = *ms_info(tape, out);
    uint32_t node = ms_record(tape, &stack_op, inputs_count, inputs);
    ms_node_numbers(tape, node, 1, (uint64_t[]){dim});
    ms_tensor link = ms_alias(tape, out, info.shape, info.strides);
    ms_attach(tape, node, 1, &link);
    ms_retain(tape, link);
    ms_release(tape, before);
    return link;
}

ms_tensor ms_stack_list(ms_tape *tape, const ms_tensor *items, uint32_t count, uint32_t dim)
{
    if (ms_idle(tape) || !items[0])
        return 0;
    ms_op_mark mark = ms_op_begin(tape, &stack_op);
    ms_shape shape = ms_info(tape, items[0])->shape;
    for (uint32_t i = shape.rank++; i > dim; i--)
        shape.dims[i] = shape.dims[i - 1];
    shape.dims[dim] = ms_dim_number(&tape->trace->symbols, count);
    ms_tensor out = ms_empty(tape, shape, (ms_dtype)ms_info(tape, items[0])->dtype);
    ms_retain(tape, out);
    ms_tensor link = 0;
    for (uint32_t i = 0; i < count && !ms_idle(tape); i += EACH)
        link = add_link(tape, out, link, &items[i], count - i < EACH ? count - i : EACH, dim);
    ms_release(tape, out);
    ms_op_end(tape, mark);
    return ms_unown(tape, link);
}
