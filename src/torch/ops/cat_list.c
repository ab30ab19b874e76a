/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Concatenation of a list of tensors. Backward hands out narrow views of the gradient, which takes
 * no memory: as a node has few edges, nodes without an operator stand for groups of inputs.
 */
#include "torch/ops/ops.h"

static void views_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    const ms_tensor_info info = *ms_info(tape, grads[0]);
    for (uint32_t i = 0; i < node->edge_count; i++)
        if (ms_node_wants(node, i))
            out[i] = ms_alias(tape, grads[0], ms_input_meta(tape, node, i)->shape, info.strides);
}

static const ms_op cat_op = {"cat", "CatBackward0", views_backward};
static const ms_op group_op = {NULL, "CatBackward0", views_backward};

static ms_shape shape_of(ms_tape *tape, uint32_t count, const ms_tensor *inputs, uint32_t dim)
{
    ms_shape shape = ms_info(tape, inputs[0])->shape;
    uint64_t length = 0;
    for (uint32_t i = 0; i < count; i++)
        length += ms_info(tape, inputs[i])->shape.dims[dim].value;
    shape.dims[dim] = ms_dim_number(&tape->trace->symbols, length);
    return shape;
}

/* Records the node of `count` inputs; where they are many, that of groups of them, each of which
 * has a view in place of its inputs. */
static uint32_t record(ms_tape *tape, const ms_op *op, uint32_t count, const ms_tensor *inputs,
                       uint32_t dim)
{
    if (count <= MS_MAX_EDGES)
        return ms_record(tape, op, count, inputs);
    uint32_t each = (count + MS_MAX_EDGES - 1) / MS_MAX_EDGES, groups = 0;
    ms_tensor made[MS_MAX_EDGES] = {0};
    for (uint32_t first = 0; first < count && !ms_idle(tape); first += each) {
        uint32_t length = count - first < each ? count - first : each;
        const ms_tensor *some = inputs + first;
        uint32_t node = record(tape, &group_op, length, some, dim);
        made[groups] = ms_alias(tape, some[0], shape_of(tape, length, some, dim),
                                ms_info(tape, some[0])->strides);
        ms_attach(tape, node, 1, &made[groups++]);
    }
    uint32_t node = ms_record(tape, op, groups, made);
    for (uint32_t i = 0; i < groups; i++)
        ms_consume(tape, made[i]);
    return node;
}

ms_tensor ms_cat_list(ms_tape *tape, uint32_t count, const ms_tensor *inputs, uint32_t dim)
{
    for (uint32_t i = 0; i < count; i++)
        if (!inputs[i])
            return 0;
    if (ms_idle(tape))
        return 0;
    ms_op_mark mark = ms_op_begin(tape, &cat_op);
    uint32_t node = record(tape, &cat_op, count, inputs, dim);
    if (ms_idle(tape))
        return 0;
    ms_tensor out = ms_empty(tape, shape_of(tape, count, inputs, dim),
                             (ms_dtype)ms_info(tape, inputs[0])->dtype);
    return ms_op_finish(tape, mark, node, count, inputs, out);
}
