/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Indexing with tensors: a copy. Backward adds the gradient's rows to zeros of the full shape; CUDA
 * sorts the indices first.
 */
#include "ops/ops.h"

static uint32_t bits_of(uint64_t number)
{
    uint32_t bits = 1;
    while (number >>= 1)
        bits++;
    return bits;
}

static void sorted_put(ms_tape *tape, uint64_t count, uint32_t dims, uint32_t key_bits)
{
    uint64_t bytes = 8 * count;
    ms_tensor linear = 0;
    for (uint32_t i = 0; i < dims; i++) { /* index modulo size, times stride */
        ms_tensor wrapped = ms_empty_bytes(tape, bytes, MS_DTYPE_I64);
        ms_tensor scaled = ms_empty_bytes(tape, bytes, MS_DTYPE_I64);
        ms_consume(tape, wrapped);
        if (i == 0)
            linear = scaled;
        else
            ms_consume(tape, scaled);
    }
    ms_tensor sorted = ms_empty_bytes(tape, bytes, MS_DTYPE_I64);
    ms_tensor original = ms_empty_bytes(tape, bytes, MS_DTYPE_I64);
    ms_tensor range = ms_empty_bytes(tape, bytes, MS_DTYPE_I64);
    ms_transient(tape, ms_cub_sort_bytes(tape, count, key_bits), MS_DTYPE_U8);
    ms_consume(tape, range);
    ms_consume(tape, original);
    ms_consume(tape, sorted);
    ms_consume(tape, linear);
}

static void index_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    out[0] = ms_empty(tape, ms_input_meta(tape, node, 0)->shape,
                      (ms_dtype)ms_info(tape, grads[0])->dtype);
    if (!tape->on_cpu)
        sorted_put(tape, node->numbers[0], node->saved_count,
                   bits_of(ms_elements(&ms_input_meta(tape, node, 0)->shape) - 1));
}

static const ms_op index_op = {"index", "IndexBackward0", index_backward};

static ms_tensor indexed(ms_tape *tape, ms_tensor a, ms_tensor first, ms_tensor second,
                         uint64_t count, ms_shape shape)
{
    ms_op_mark mark = ms_op_begin(tape, &index_op);
    uint32_t node = ms_record(tape, &index_op, 1, &a);
    ms_node_numbers(tape, node, 1, &count);
    ms_save(tape, node, first);
    ms_save(tape, node, second);
    ms_tensor out = ms_empty(tape, shape, (ms_dtype)ms_info(tape, a)->dtype);
    return ms_op_finish(tape, mark, node, 3, (ms_tensor[]){a, first, second}, out);
}

ms_tensor ms_index_one(ms_tape *tape, ms_tensor a, uint32_t dim)
{
    if (ms_idle(tape) || !a)
        return 0;
    ms_shape shape = ms_info(tape, a)->shape;
    shape.dims[dim] = (ms_dim){.value = 1};
    return indexed(tape, a, ms_empty_bytes(tape, 8, MS_DTYPE_I64), 0, 1, shape);
}

ms_tensor ms_index_pairs(ms_tape *tape, ms_tensor a, ms_tensor rows, ms_tensor columns)
{
    if (ms_idle(tape) || !a) {
        ms_consume(tape, rows);
        ms_consume(tape, columns);
        return 0;
    }
    const ms_shape *from = &ms_info(tape, a)->shape;
    ms_dim count = ms_info(tape, rows)->shape.dims[0];
    ms_shape shape = MS_SHAPE(count, from->dims[from->rank - 1]);
    return indexed(tape, a, rows, columns, count.value, shape);
}
