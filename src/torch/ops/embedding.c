/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Embedding look-up. Its dense backward on CUDA sorts the indices when there are more than 3,072.
 */
#include "torch/ops/ops.h"

/* ---- masked scatter ---- */

/* masked_scatter (ATen/native/cuda/IndexKernel.cpp): a copy of the tensor, on a GPU the running sum
 * of the mask and a copy of the mask as large. Backward fills the selected part of the one gradient
 * and selects it for the other. */

enum { TARGET, SOURCE }; /* inputs */

static ms_dtype dtype_of(ms_tape *tape, ms_tensor a)
{
    return (ms_dtype)ms_info(tape, a)->dtype;
}

static ms_tensor bytes_of_cub(ms_tape *tape, uint64_t bytes)
{
    return ms_empty_bytes(tape, bytes, MS_DTYPE_U8);
}

/* The copy of a mask that is expanded to as many elements; 0: it has them. */
static ms_tensor expanded(ms_tape *tape, ms_tensor mask, const ms_shape *whole)
{
    bool is_whole = ms_elements(&ms_info(tape, mask)->shape) == ms_elements(whole);
    return is_whole ? 0 : ms_empty(tape, *whole, MS_DTYPE_BOOL);
}

/* nonzero() of the expanded mask: an index for each dimension, [rank, count] */
static ms_tensor places(ms_tape *tape, ms_tensor given, const ms_shape *whole, uint64_t count)
{
    ms_symbols *s = &tape->trace->symbols;
    uint64_t items = ms_elements(whole);
    ms_tensor mask = expanded(tape, given, whole);
    ms_tensor found = ms_empty_bytes(tape, 4, MS_DTYPE_I32);
    ms_consume(tape, bytes_of_cub(tape, ms_cub_count_bytes(tape, items)));
    ms_tensor out = ms_empty(tape, MS_SHAPE(ms_dim_number(s, whole->rank), ms_dim_number(s, count)),
                             MS_DTYPE_I64);
    ms_consume(tape, bytes_of_cub(tape, ms_cub_select_bytes(tape, items)));
    ms_consume(tape, found);
    ms_consume(tape, mask);
    return out;
}

/* grad.masked_select(mask), in the shape of the source */
static ms_tensor selected(ms_tape *tape, ms_tensor mask, const ms_shape *whole,
                          const ms_shape *source, ms_dtype dtype)
{
    if (tape->on_cpu || ms_idle(tape))
        return ms_empty(tape, *source, dtype);
    ms_tensor indices = places(tape, mask, whole, ms_elements(source));
    ms_tensor out = ms_empty(tape, *source, dtype);
    ms_consume(tape, indices);
    return out;
}

static void scatter_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    ms_dtype dtype = dtype_of(tape, grads[0]);
    const ms_shape whole = ms_input_meta(tape, node, TARGET)->shape;
    if (ms_node_wants(node, TARGET))
        out[TARGET] = ms_empty(tape, whole, dtype);
    if (ms_node_wants(node, SOURCE))
        out[SOURCE] = selected(tape, node->saved[0], &whole,
                               &ms_input_meta(tape, node, SOURCE)->shape, dtype);
}

static const ms_op scatter_op = {"masked_scatter", "MaskedScatterBackward0", scatter_backward};

ms_tensor ms_masked_scatter(ms_tape *tape, ms_tensor a, ms_tensor mask, ms_tensor source)
{
    if (ms_idle(tape) || !a || !mask || !source)
        return 0;
    ms_op_mark mark = ms_op_begin(tape, &scatter_op);
    const ms_tensor inputs[] = {a, source};
    uint32_t node = ms_record(tape, &scatter_op, 2, inputs);
    ms_save(tape, node, mask);
    const ms_shape shape = ms_info(tape, a)->shape;
    ms_tensor out = ms_empty(tape, shape, dtype_of(tape, a));
    if (!tape->on_cpu) {
        ms_tensor sums = ms_empty(tape, shape, MS_DTYPE_I64);
        ms_tensor copy = expanded(tape, mask, &shape);
        ms_consume(tape, bytes_of_cub(tape, ms_cub_scan_bytes(ms_elements(&shape))));
        ms_consume(tape, copy);
        ms_consume(tape, sums);
    }
    return ms_op_finish(tape, mark, node, 2, inputs, out);
}

/* ---- embedding ---- */

enum { SORT_THRESHOLD = 3072, ROWS_PER_THREAD = 10 };

/* Since torch 2.11 few rows with many indices are summed by atomic additions (the heuristic of
 * EmbeddingBackwardKernel.cu): a block is a row's columns in warps, at most 1,024 of them. */
static bool adds_atomically(const ms_tape *tape, uint64_t segments, uint64_t partials,
                            uint64_t columns)
{
    enum { FIRST_MINOR = 11, WARP = 32, MOST_THREADS = 1024, BLOCKS_EACH = 4, MANY = 4 };
    const ms_device *device = tape->options.device;
    uint64_t threads = (columns + WARP - 1) / WARP * WARP;
    uint64_t block = threads < MOST_THREADS ? threads : MOST_THREADS;
    uint64_t grid = (segments * threads + block - 1) / block;
    uint64_t multiprocessors = device->multiprocessors ? device->multiprocessors : 108;
    bool is_late = tape->options.torch_major > 2 || tape->options.torch_minor >= FIRST_MINOR;
    return is_late && grid < multiprocessors * BLOCKS_EACH && partials > MANY * grid;
}

static void sorted_gradient(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    const ms_meta weight = *ms_input_meta(tape, node, 0);
    uint64_t count = node->numbers[0], vocabulary = weight.shape.dims[0].value;
    uint64_t most_segments = count < vocabulary ? count : vocabulary;
    ms_dim n = ms_dim_number(&tape->trace->symbols, count);
    ms_shape indices = MS_SHAPE(n);
    ms_tensor sorted = ms_empty(tape, indices, MS_DTYPE_I64);
    ms_tensor original = ms_empty(tape, indices, MS_DTYPE_I64);
    ms_tensor range = ms_empty(tape, indices, MS_DTYPE_I64);
    ms_transient(tape, ms_cub_sort_bytes(tape, count, 64), MS_DTYPE_U8);
    ms_consume(tape, range);
    out[0] = ms_empty(tape, weight.shape, (ms_dtype)ms_info(tape, grads[0])->dtype);
    ms_tensor segments = ms_empty(tape, indices, MS_DTYPE_I64);
    ms_tensor segment_count = ms_empty_bytes(tape, 8, MS_DTYPE_I64);
    ms_tensor unused = ms_empty(tape, indices, MS_DTYPE_I64);
    ms_transient(tape, ms_cub_unique_bytes(count), MS_DTYPE_U8);
    ms_consume(tape, unused);
    ms_shape counts = MS_SHAPE(ms_dim_number(&tape->trace->symbols, most_segments));
    ms_tensor partials = ms_empty(tape, counts, MS_DTYPE_I64);
    ms_tensor partial_offsets = ms_empty(tape, counts, MS_DTYPE_I64);
    ms_transient(tape, ms_cub_scan_bytes(most_segments), MS_DTYPE_U8);
    ms_tensor partial_count = ms_empty_bytes(tape, 8, MS_DTYPE_I64);
    ms_dim partial = ms_dim_number(&tape->trace->symbols, count / ROWS_PER_THREAD + most_segments);
    ms_tensor starts = ms_empty(tape, MS_SHAPE(partial), MS_DTYPE_I64);
    ms_tensor of_partials = 0, sums = 0;
    if (adds_atomically(tape, most_segments, partial.value, weight.shape.dims[1].value)) {
        of_partials = ms_empty(tape, MS_SHAPE(partial), MS_DTYPE_I64);
        if (!ms_idle(tape) && ms_info(tape, grads[0])->dtype != MS_DTYPE_F32)
            sums = ms_empty(tape, weight.shape, MS_DTYPE_F32);
    } else {
        of_partials = ms_empty(tape, MS_SHAPE(partial, weight.shape.dims[1]), MS_DTYPE_F32);
    }
    const ms_tensor order[] = {sums,     of_partials,   starts,   partial_count, partial_offsets,
                               partials, segment_count, segments, original,      sorted};
    for (uint32_t i = 0; i < sizeof order / sizeof *order; i++)
        ms_consume(tape, order[i]);
}

static void embedding_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    uint64_t indices = node->numbers[0];
    ms_tensor copy = ms_contiguous_copy(tape, node->saved[0]);
    ms_tensor rows = ms_contiguous_copy(tape, grads[0]);
    if (!tape->on_cpu && indices > SORT_THRESHOLD)
        sorted_gradient(tape, node, grads, out);
    else
        out[0] = ms_empty(tape, ms_input_meta(tape, node, 0)->shape,
                          (ms_dtype)ms_info(tape, grads[0])->dtype);
    ms_consume(tape, rows);
    ms_consume(tape, copy);
}

static const ms_op embedding_op = {"embedding", "EmbeddingBackward0", embedding_backward};

/* indices.reshape(-1): a copy where they are not side by side at one distance; the CPU's kernel
 * wants them in order. */
static ms_tensor flat_copy(ms_tape *tape, ms_tensor ids)
{
    const ms_tensor_info *info = ms_info(tape, ids);
    uint64_t strides[MS_MAX_RANK];
    ms_shape flat = MS_SHAPE(ms_dim_number(&tape->trace->symbols, ms_elements(&info->shape)));
    return !tape->on_cpu && ms_view_strides(info, &flat, strides) ? 0
                                                                  : ms_contiguous_copy(tape, ids);
}

ms_tensor ms_embedding_rows(ms_tape *tape, ms_tensor weight, ms_tensor ids, ms_dim rows)
{
    if (ms_idle(tape) || !weight || !ids)
        return 0;
    ms_op_mark mark = ms_op_begin(tape, &embedding_op);
    uint32_t node = ms_record(tape, &embedding_op, 1, &weight);
    if (node != MS_NONE)
        tape->metas.items[tape->nodes.items[node].first_meta].shape.dims[0] = rows;
    ms_node_numbers(tape, node, 1, (uint64_t[]){ms_elements(&ms_info(tape, ids)->shape)});
    ms_save(tape, node, ids);
    ms_shape shape = ms_info(tape, ids)->shape;
    ms_tensor copy = flat_copy(tape, ids);
    shape.dims[shape.rank++] = ms_info(tape, weight)->shape.dims[1];
    ms_tensor out = ms_empty(tape, shape, (ms_dtype)ms_info(tape, weight)->dtype);
    ms_consume(tape, copy);
    return ms_op_finish(tape, mark, node, 2, (ms_tensor[]){ids, weight}, out);
}

ms_tensor ms_embedding(ms_tape *tape, ms_tensor weight, ms_tensor ids)
{
    return ms_idle(tape) || !weight
               ? 0
               : ms_embedding_rows(tape, weight, ids, ms_info(tape, weight)->shape.dims[0]);
}
