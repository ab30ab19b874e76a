/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Splitting and joining: views of parts, with one node for all of them, whose backward concatenates
 * their gradients; concatenated and stacked lists.
 */
#include "torch/ops/split.h"

#include "torch/autograd/tape.h"

/* ---- layout ---- */

bool ms_is_channels_last(const ms_tensor_info *info)
{
    static const uint32_t inner_first[] = {1, 3, 2, 0};
    uint64_t least = 0;
    if (info->shape.rank != 4 || info->strides[1] == 0)
        return false;
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t d = inner_first[i];
        if (info->strides[d] < least || (d == 0 && least == info->strides[1]))
            return false;
        least = info->strides[d] * info->shape.dims[d].value;
    }
    return true;
}

ms_tensor ms_channels_last(ms_tape *tape, ms_shape shape, ms_dtype dtype)
{
    uint64_t strides[MS_MAX_RANK] = {0};
    strides[1] = 1;
    strides[3] = shape.dims[1].value;
    strides[2] = strides[3] * shape.dims[3].value;
    strides[0] = strides[2] * shape.dims[2].value;
    return ms_empty_strided(tape, shape, strides, dtype);
}

/* ---- stack ---- */

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

/* ---- cat list ---- */

/* Concatenation of a list of tensors. Backward hands out narrow views of the gradient, which takes
 * no memory: as a node has few edges, nodes without an operator stand for groups of inputs. */

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

/* ---- split: backward is one cat, which keeps the layout of pictures ---- */

static void split_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    const ms_shape shape = ms_input_meta(tape, node, 0)->shape;
    ms_dtype dtype = (ms_dtype)ms_info(tape, grads[0])->dtype;
    bool pictures = shape.rank == 4;
    for (uint32_t i = 0; i < node->output_count && pictures; i++)
        pictures = grads[i] && ms_is_channels_last(ms_info(tape, grads[i]));
    out[0] = pictures ? ms_channels_last(tape, shape, dtype) : ms_empty(tape, shape, dtype);
}

static const ms_op split_op = {"split", "SplitBackward0", split_backward};

void ms_split(ms_tape *tape, ms_tensor a, uint32_t dim, ms_dim part, uint32_t count, ms_tensor *out)
{
    for (uint32_t i = 0; i < count; i++)
        out[i] = 0;
    if (ms_idle(tape) || !a)
        return;
    uint32_t node = ms_record(tape, &split_op, 1, &a);
    ms_tensor_info info = *ms_info(tape, a);
    info.shape.dims[dim] = part;
    for (uint32_t i = 0; i < count; i++)
        out[i] = ms_alias(tape, a, info.shape, info.strides);
    if (!ms_idle(tape))
        ms_attach(tape, node, count, out);
    ms_consume(tape, a);
}

/* stack(grads) */
static void unbind_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    out[0] = ms_empty(tape, ms_input_meta(tape, node, 0)->shape,
                      (ms_dtype)ms_info(tape, grads[0])->dtype);
}

static const ms_op unbind_op = {"unbind", "UnbindBackward0", unbind_backward};

void ms_unbind(ms_tape *tape, ms_tensor a, uint32_t dim, uint32_t count, ms_tensor *out)
{
    for (uint32_t i = 0; i < count; i++)
        out[i] = 0;
    if (ms_idle(tape) || !a)
        return;
    uint32_t node = ms_record(tape, &unbind_op, 1, &a);
    ms_tensor_info info = *ms_info(tape, a);
    info.shape.rank--;
    for (uint32_t i = dim; i < info.shape.rank; i++) {
        info.shape.dims[i] = info.shape.dims[i + 1];
        info.strides[i] = info.strides[i + 1];
    }
    for (uint32_t i = 0; i < count; i++)
        out[i] = ms_alias(tape, a, info.shape, info.strides);
    if (!ms_idle(tape))
        ms_attach(tape, node, count, out);
    ms_consume(tape, a);
}

static const ms_op split_into_op = {"split_with_sizes", "SplitWithSizesBackward0", split_backward};

void ms_split_sizes(ms_tape *tape, ms_tensor a, uint32_t dim, uint32_t count, const ms_dim *lengths,
                    ms_tensor *out)
{
    for (uint32_t i = 0; i < count; i++)
        out[i] = 0;
    if (ms_idle(tape) || !a)
        return;
    uint32_t node = ms_record(tape, &split_into_op, 1, &a);
    ms_tensor_info info = *ms_info(tape, a);
    for (uint32_t i = 0; i < count; i++) {
        info.shape.dims[dim] = lengths[i];
        out[i] = ms_alias(tape, a, info.shape, info.strides);
    }
    if (!ms_idle(tape))
        ms_attach(tape, node, count, out);
    ms_consume(tape, a);
}

void ms_split_into(ms_tape *tape, ms_tensor a, uint32_t count, const ms_dim *lengths,
                   ms_tensor *out)
{
    uint32_t rank = ms_idle(tape) || !a ? 1 : ms_info(tape, a)->shape.rank;
    ms_split_sizes(tape, a, rank - 1, count, lengths, out);
}

void ms_split_at(ms_tape *tape, ms_tensor a, ms_dim first, ms_tensor out[2])
{
    out[0] = out[1] = 0;
    if (ms_idle(tape) || !a)
        return;
    const ms_shape shape = ms_info(tape, a)->shape;
    uint64_t rest = shape.dims[shape.rank - 1].value - first.value;
    const ms_dim lengths[] = {first, ms_dim_number(&tape->trace->symbols, rest)};
    ms_split_into(tape, a, 2, lengths, out);
}

/* ---- chunks of the rows: one node with an output for each ---- */

uint32_t ms_chunk_rows(ms_tape *tape, ms_tensor a, uint32_t pieces, ms_tensor *out)
{
    for (uint32_t i = 0; i < pieces; i++)
        out[i] = 0;
    if (ms_idle(tape) || !a || pieces == 0)
        return 0;
    uint32_t node = ms_record(tape, &split_op, 1, &a);
    ms_tensor_info info = *ms_info(tape, a);
    uint64_t rows = info.shape.dims[0].value, most = (rows + pieces - 1) / pieces;
    uint32_t count = 0;
    for (uint64_t first = 0; first < rows; first += most) {
        uint64_t length = rows - first < most ? rows - first : most;
        info.shape.dims[0] = ms_dim_number(&tape->trace->symbols, length);
        out[count++] = ms_alias(tape, a, info.shape, info.strides);
    }
    if (!ms_idle(tape))
        ms_attach(tape, node, count, out);
    ms_consume(tape, a);
    return count;
}
