/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "torch/ops/moe/rows.h"

#include "torch/autograd/engine.h"

/* ---- masked ---- */

static ms_dtype dtype_of(ms_tape *tape, ms_tensor a)
{
    return (ms_dtype)ms_info(tape, a)->dtype;
}

static ms_tensor places_of(ms_tape *tape, ms_tensor mask, ms_dim count)
{
    if (ms_idle(tape))
        return 0;
    const ms_shape shape = ms_info(tape, mask)->shape;
    return ms_nonzero(tape, &shape, true, count);
}

/* ---- a[mask] ---- */

/* Added into zeros; on a GPU the indices are sorted for that. */
static void masked_index_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads,
                                  ms_tensor *out)
{
    const ms_meta meta = *ms_input_meta(tape, node, 0);
    const ms_shape rows = MS_SHAPE(ms_dim_number(&tape->trace->symbols, node->numbers[0]));
    out[0] = ms_empty(tape, meta.shape, dtype_of(tape, grads[0]));
    ms_tensor places = places_of(tape, node->saved[0], rows.dims[0]);
    if (tape->on_cpu || ms_idle(tape)) {
        ms_consume(tape, places);
        return;
    }
    uint32_t rank = ms_info(tape, node->saved[0])->shape.rank;
    uint64_t all = 1;
    for (uint32_t i = 0; i < rank; i++)
        all *= meta.shape.dims[i].value;
    ms_tensor linear = ms_linear_index(tape, rank, rows);
    ms_consume(tape, places);
    ms_sort_linear(tape, &rows, all);
    ms_consume(tape, linear);
}

static const ms_op masked_index_op = {"index", "IndexBackward0", masked_index_backward};

ms_tensor ms_index_mask(ms_tape *tape, ms_tensor a, ms_tensor mask, ms_dim count)
{
    if (ms_idle(tape) || !a || !mask)
        return 0;
    ms_op_mark mark = ms_op_begin(tape, &masked_index_op);
    uint32_t node = ms_record(tape, &masked_index_op, 1, &a);
    ms_node_numbers(tape, node, 1, (uint64_t[]){count.value});
    ms_save(tape, node, mask);
    ms_tensor places = places_of(tape, mask, count);
    if (ms_idle(tape))
        return 0;
    const ms_shape from = ms_info(tape, a)->shape;
    ms_shape shape = MS_SHAPE(count);
    for (uint32_t i = ms_info(tape, mask)->shape.rank; i < from.rank; i++)
        shape.dims[shape.rank++] = from.dims[i];
    ms_tensor out = ms_empty(tape, shape, dtype_of(tape, a));
    ms_consume(tape, places);
    return ms_op_finish(tape, mark, node, 2, (ms_tensor[]){a, mask}, out);
}

/* ---- a[mask] = source ---- */

enum { TARGET, SOURCE }; /* inputs */

/* A copy of the gradient with zeros in these places, and what was there. */
static void put_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    const ms_shape source = ms_input_meta(tape, node, SOURCE)->shape;
    ms_dtype dtype = dtype_of(tape, grads[0]);
    if (ms_node_wants(node, TARGET)) {
        ms_tensor zeros = ms_empty(tape, source, dtype);
        out[TARGET] = ms_empty_like(tape, grads[0], dtype);
        ms_consume(tape, places_of(tape, node->saved[0], source.dims[0]));
        ms_consume(tape, zeros);
    }
    if (ms_node_wants(node, SOURCE)) {
        ms_tensor places = places_of(tape, node->saved[0], source.dims[0]);
        out[SOURCE] = ms_empty(tape, source, dtype);
        ms_consume(tape, places);
    }
}

static const ms_op put_op = {"index_put_", "IndexPutBackward0", put_backward};

ms_tensor ms_put_mask(ms_tape *tape, ms_tensor a, ms_tensor mask, ms_tensor source)
{
    if (ms_idle(tape) || !a || !mask || !source)
        return 0;
    ms_op_mark mark = ms_op_begin(tape, &put_op);
    ms_tensor inputs[] = {a, source};
    uint32_t node = ms_record(tape, &put_op, 2, inputs);
    ms_save(tape, node, mask);
    ms_change_in_place(tape, a);
    ms_consume(tape, places_of(tape, mask, ms_info(tape, source)->shape.dims[0]));
    if (ms_idle(tape))
        return 0;
    const ms_tensor_info info = *ms_info(tape, a);
    return ms_op_finish(tape, mark, node, 2, inputs, ms_alias(tape, a, info.shape, info.strides));
}

/* ---- index: backward adds into zeros; on a GPU it sorts the indices for that ---- */

static uint32_t bits_of(uint64_t most)
{
    uint32_t bits = 0;
    for (; most > 0; most >>= 1)
        bits++;
    return bits;
}

ms_tensor ms_linear_index(ms_tape *tape, uint32_t count, ms_shape shape)
{
    ms_tensor linear = 0;
    for (uint32_t i = 0; i < count; i++) {
        ms_tensor wrapped = ms_empty(tape, shape, MS_DTYPE_I64);
        ms_tensor scaled = ms_empty(tape, shape, MS_DTYPE_I64);
        ms_consume(tape, wrapped);
        if (i == 0)
            linear = scaled;
        else
            ms_consume(tape, scaled);
    }
    return linear;
}

void ms_sort_linear(ms_tape *tape, const ms_shape *shape, uint64_t places)
{
    ms_tensor sorted = ms_empty(tape, *shape, MS_DTYPE_I64);
    ms_tensor original = ms_empty(tape, *shape, MS_DTYPE_I64);
    ms_tensor range = ms_empty(tape, *shape, MS_DTYPE_I64);
    ms_transient(tape, ms_cub_sort_bytes(tape, ms_elements(shape), bits_of(places - 1)),
                 MS_DTYPE_U8);
    ms_consume(tape, range);
    ms_consume(tape, original);
    ms_consume(tape, sorted);
}

static void sort_indices(ms_tape *tape, const ms_node *node, const ms_shape *indexed)
{
    ms_shape shape = ms_info(tape, node->saved[0])->shape;
    uint64_t places = 1;
    for (uint32_t i = 0; i < node->saved_count; i++)
        places *= indexed->dims[i].value;
    ms_tensor linear = ms_linear_index(tape, node->saved_count, shape);
    ms_sort_linear(tape, &shape, places);
    ms_consume(tape, linear);
}

static void index_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    const ms_meta meta = *ms_input_meta(tape, node, 0);
    out[0] = ms_empty(tape, meta.shape, dtype_of(tape, grads[0]));
    if (!tape->on_cpu && !ms_idle(tape))
        sort_indices(tape, node, &meta.shape);
}

static const ms_op index_op = {"index", "IndexBackward0", index_backward};

/* a[indices[0], ..]: they index the first dimensions. */
static ms_tensor take(ms_tape *tape, ms_tensor a, uint32_t count, const ms_tensor *indices)
{
    ms_op_mark mark = ms_op_begin(tape, &index_op);
    uint32_t node = ms_record(tape, &index_op, 1, &a);
    for (uint32_t i = 0; i < count; i++)
        ms_save(tape, node, indices[i]);
    ms_shape shape = ms_info(tape, indices[0])->shape;
    const ms_shape from = ms_info(tape, a)->shape;
    for (uint32_t i = count; i < from.rank; i++)
        shape.dims[shape.rank++] = from.dims[i];
    ms_tensor out = ms_empty(tape, shape, dtype_of(tape, a));
    return ms_op_finish(tape, mark, node, 2, (ms_tensor[]){a, indices[0]}, out);
}

ms_tensor ms_index_rows(ms_tape *tape, ms_tensor a, ms_tensor rows)
{
    return ms_idle(tape) || !a || !rows ? 0 : take(tape, a, 1, &rows);
}

ms_tensor ms_index_grid(ms_tape *tape, ms_shape shape, ms_dtype dtype)
{
    const bool copies_columns = !tape->on_cpu && shape.dims[0].value > 1;
    ms_tensor rows = tape->on_cpu ? 0 : ms_empty(tape, shape, MS_DTYPE_I64);
    ms_tensor columns = copies_columns ? ms_empty(tape, shape, MS_DTYPE_I64) : 0;
    ms_tensor out = ms_empty(tape, shape, dtype);
    ms_consume(tape, columns);
    ms_consume(tape, rows);
    return out;
}

ms_tensor ms_index_pairs(ms_tape *tape, ms_tensor a, ms_tensor rows, ms_tensor columns)
{
    if (ms_idle(tape) || !a || !rows || !columns)
        return 0;
    return take(tape, a, 2, (ms_tensor[]){rows, columns});
}

/* ---- indices on the host: on a GPU each use copies them there, where they are in order ---- */

static void index_by_host_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads,
                                   ms_tensor *out)
{
    const ms_meta meta = *ms_input_meta(tape, node, 0);
    const ms_shape shape = MS_SHAPE(ms_dim_number(&tape->trace->symbols, node->numbers[0]));
    out[0] = ms_empty(tape, meta.shape, dtype_of(tape, grads[0]));
    if (tape->on_cpu || ms_idle(tape))
        return;
    ms_tensor copy = ms_empty(tape, shape, MS_DTYPE_I64);
    ms_sort_linear(tape, &shape, meta.shape.dims[0].value);
    ms_consume(tape, copy);
}

static const ms_op index_by_host_op = {"index", "IndexBackward0", index_by_host_backward};

ms_tensor ms_index_by_host(ms_tape *tape, ms_tensor a, ms_tensor rows, ms_dim count)
{
    if (ms_idle(tape) || !a)
        return 0;
    ms_op_mark mark = ms_op_begin(tape, &index_by_host_op);
    uint32_t node = ms_record(tape, &index_by_host_op, 1, &a);
    ms_node_numbers(tape, node, 1, (uint64_t[]){count.value});
    ms_save(tape, node, rows);
    if (!rows && node != MS_NONE && ms_hooks_saving(tape) == MS_SAVING_TENSORS)
        tape->host_saved_bytes += count.value * sizeof(int64_t);
    ms_tensor copy = rows ? 0 : ms_empty(tape, MS_SHAPE(count), MS_DTYPE_I64);
    ms_shape shape = ms_info(tape, a)->shape;
    shape.dims[0] = count;
    ms_tensor out = ms_empty(tape, shape, dtype_of(tape, a));
    ms_consume(tape, copy);
    return ms_op_finish(tape, mark, node, 1, &a, out);
}

ms_tensor ms_index_one(ms_tape *tape, ms_tensor a, uint32_t dim)
{
    if (ms_idle(tape) || !a)
        return 0;
    ms_op_mark mark = ms_op_begin(tape, &index_op);
    ms_tensor index = ms_empty(tape, MS_SHAPE((ms_dim){.value = 1}), MS_DTYPE_I64);
    uint32_t node = ms_record(tape, &index_op, 1, &a);
    ms_save(tape, node, index);
    ms_shape shape = ms_info(tape, a)->shape;
    shape.dims[dim] = (ms_dim){.value = 1};
    ms_tensor out = ms_empty(tape, shape, dtype_of(tape, a));
    return ms_op_finish(tape, mark, node, 2, (ms_tensor[]){a, index}, out);
}

/* ---- index_add_: the source's gradient is selected from the result's ---- */

enum { ADD_TARGET, ADD_SOURCE }; /* inputs */

static void index_add_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    if (ms_node_wants(node, ADD_SOURCE))
        out[ADD_SOURCE] =
            ms_empty(tape, ms_input_meta(tape, node, ADD_SOURCE)->shape, dtype_of(tape, grads[0]));
    if (ms_node_wants(node, ADD_TARGET))
        out[ADD_TARGET] = grads[0];
}

static const ms_op index_add_op = {"index_add_", "IndexAddBackward0", index_add_backward};

ms_tensor ms_index_add_into(ms_tape *tape, ms_tensor a, ms_tensor rows, ms_tensor source)
{
    if (ms_idle(tape) || !a || !rows || !source)
        return 0;
    ms_op_mark mark = ms_op_begin(tape, &index_add_op);
    ms_tensor inputs[] = {a, source};
    uint32_t node = ms_record(tape, &index_add_op, 2, inputs);
    ms_save(tape, node, rows);
    ms_save(tape, node, source); /* its shape would do */
    ms_change_in_place(tape, a);
    const ms_tensor_info info = *ms_info(tape, a);
    return ms_op_finish(tape, mark, node, 2, inputs, ms_alias(tape, a, info.shape, info.strides));
}

/* ---- index_select: backward adds the rows to zeros ---- */

static void select_rows_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads,
                                 ms_tensor *out)
{
    out[0] = ms_empty(tape, ms_input_meta(tape, node, 0)->shape, dtype_of(tape, grads[0]));
}

static const ms_op select_rows_op = {"index_select", "IndexSelectBackward0", select_rows_backward};

ms_tensor ms_select_rows(ms_tape *tape, ms_tensor a, ms_tensor rows)
{
    if (ms_idle(tape) || !a || !rows)
        return 0;
    ms_op_mark mark = ms_op_begin(tape, &select_rows_op);
    uint32_t node = ms_record(tape, &select_rows_op, 1, &a);
    ms_save(tape, node, rows);
    ms_shape shape = ms_info(tape, a)->shape;
    shape.dims[0] = ms_info(tape, rows)->shape.dims[0];
    ms_tensor out = ms_empty(tape, shape, dtype_of(tape, a));
    return ms_op_finish(tape, mark, node, 2, (ms_tensor[]){a, rows}, out);
}

/* ---- repeated rows: backward sums the copies ---- */

static void repeat_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    const ms_shape rows = ms_input_meta(tape, node, 0)->shape;
    const ms_dim one = {.value = 1};
    ms_dim times = ms_dim_number(&tape->trace->symbols, node->numbers[0]);
    ms_shape wide = MS_SHAPE(times, rows.dims[0], rows.dims[1]);
    ms_tensor copies = ms_reshape_raw(tape, grads[0], &wide);
    if (ms_idle(tape))
        return;
    const ms_shape summed = MS_SHAPE(one, rows.dims[0], rows.dims[1]);
    ms_tensor sum = ms_sum_to(tape, copies, &summed);
    out[0] = ms_idle(tape) ? 0 : ms_reshape_raw(tape, sum, &rows);
    ms_consume(tape, sum);
}

static const ms_op repeat_op = {"repeat", "RepeatBackward0", repeat_backward};

ms_tensor ms_repeat_rows(ms_tape *tape, ms_tensor a, ms_dim times)
{
    if (ms_idle(tape) || !a)
        return 0;
    ms_op_mark mark = ms_op_begin(tape, &repeat_op);
    uint32_t node = ms_record(tape, &repeat_op, 1, &a);
    ms_node_numbers(tape, node, 1, (uint64_t[]){times.value});
    ms_shape shape = ms_info(tape, a)->shape;
    shape.dims[0] = ms_dim_mul(&tape->trace->symbols, times, shape.dims[0]);
    return ms_op_finish(tape, mark, node, 1, &a, ms_empty(tape, shape, dtype_of(tape, a)));
}

/* ---- who has which expert ---- */

static const ms_op one_hot_op = {"one_hot", NULL, NULL};

ms_tensor ms_one_hot(ms_tape *tape, ms_tensor a, ms_dim classes)
{
    if (ms_idle(tape) || !a)
        return 0;
    ms_op_mark mark = ms_op_begin(tape, &one_hot_op);
    ms_shape shape = ms_info(tape, a)->shape;
    shape.dims[shape.rank++] = classes;
    if (tape->on_cpu) { /* its smallest and its largest are looked at */
        ms_transient(tape, 8, MS_DTYPE_I64);
        ms_transient(tape, 8, MS_DTYPE_I64);
    }
    return ms_op_finish(tape, mark, MS_NONE, 1, &a, ms_empty(tape, shape, MS_DTYPE_I64));
}

static const ms_op nonzero_op = {"nonzero", NULL, NULL};

/* On a GPU a copy that lies in order, the count and CUB's storage for counting and selecting. */
ms_tensor ms_nonzero(ms_tape *tape, const ms_shape *shape, bool is_contiguous, ms_dim count)
{
    if (ms_idle(tape))
        return 0;
    ms_op_mark mark = ms_op_begin(tape, &nonzero_op);
    ms_tensor copy = 0, found = 0;
    if (!tape->on_cpu) {
        copy = is_contiguous ? 0 : ms_empty(tape, *shape, MS_DTYPE_I64);
        found = ms_empty_bytes(tape, 4, MS_DTYPE_I32);
        ms_transient(tape, ms_cub_count_bytes(tape, ms_elements(shape)), MS_DTYPE_U8);
    }
    ms_dim rank = ms_dim_number(&tape->trace->symbols, shape->rank);
    ms_tensor out = ms_empty(tape, MS_SHAPE(rank, count), MS_DTYPE_I64);
    if (!tape->on_cpu)
        ms_transient(tape, ms_cub_select_bytes(tape, ms_elements(shape)), MS_DTYPE_U8);
    ms_consume(tape, found);
    ms_consume(tape, copy);
    return ms_op_finish(tape, mark, MS_NONE, 0, NULL, out);
}
