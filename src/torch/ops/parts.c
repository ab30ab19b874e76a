/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Parts of a tensor that are added to in place, through a view of it. Autograd then copies the
 * gradient of the whole and that of the part, and reads the view anew, as a part of what the whole
 * has become.
 */
#include "torch/ops/parts.h"

#include <string.h>

#include "torch/ops/einsum.h"

enum { BASE, ADDED, PART, INPUTS };

static void add_to_part_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads,
                                 ms_tensor *out)
{
    ms_dtype dtype = (ms_dtype)ms_info(tape, grads[0])->dtype;
    ms_tensor whole = ms_empty(tape, ms_input_meta(tape, node, BASE)->shape, dtype);
    const ms_shape shape = ms_input_meta(tape, node, PART)->shape;
    ms_tensor part = ms_empty_strided(tape, shape, node->numbers, dtype);
    if (ms_node_wants(node, ADDED))
        out[ADDED] = part;
    else
        ms_consume(tape, part);
    if (ms_node_wants(node, BASE))
        out[BASE] = whole;
    else
        ms_consume(tape, whole);
}

static const ms_op add_to_part_op = {"add_", "CopySlices", add_to_part_backward};

ms_tensor ms_add_to_part(ms_tape *tape, ms_tensor base, const ms_strided *part, ms_tensor added)
{
    if (ms_idle(tape) || !base || !added) {
        ms_consume(tape, base);
        ms_consume(tape, added);
        return 0;
    }
    ms_op_mark mark = ms_op_begin(tape, &add_to_part_op);
    ms_tensor view = ms_alias(tape, base, part->shape, part->strides);
    const ms_tensor inputs[INPUTS] = {base, added, view};
    uint32_t node = ms_record(tape, &add_to_part_op, INPUTS, inputs);
    ms_node_numbers(tape, node, part->shape.rank, part->strides);
    return ms_op_finish(tape, mark, node, INPUTS, inputs, ms_same_storage(tape, base));
}

static void part_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    out[0] = ms_empty(tape, ms_input_meta(tape, node, 0)->shape,
                      (ms_dtype)ms_info(tape, grads[0])->dtype);
}

static const ms_op part_op = {"as_strided", "AsStridedBackward0", part_backward};

ms_tensor ms_part_of(ms_tape *tape, ms_tensor base, const ms_strided *part)
{
    if (ms_idle(tape) || !base) {
        ms_consume(tape, base);
        return 0;
    }
    uint32_t node = ms_record(tape, &part_op, 1, &base);
    ms_tensor view = ms_alias(tape, base, part->shape, part->strides);
    ms_attach(tape, node, 1, &view);
    ms_consume(tape, base);
    return view;
}

ms_tensor ms_add_to_view(ms_tape *tape, ms_tensor view, ms_tensor added)
{
    const ms_tensor base = ms_idle(tape) || !view ? 0 : ms_permute_undone(tape, view);
    if (!base)
        return ms_add_(tape, view, added);
    const ms_tensor_info info = *ms_info(tape, view);
    ms_strided part = {.shape = info.shape};
    memcpy(part.strides, info.strides, sizeof part.strides);
    return ms_part_of(tape, ms_add_to_part(tape, base, &part, added), &part);
}
