/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Splitting: views of parts, with one node for all of them, whose backward concatenates their
 * gradients.
 */
#include "torch/ops/layout.h"
#include "torch/ops/ops.h"

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
