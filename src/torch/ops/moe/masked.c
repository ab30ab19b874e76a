/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Reading and writing the rows that a mask selects. The mask is what is saved: every use of it
 * finds the places anew.
 */
#include "torch/ops/moe/masked.h"

#include "torch/ops/moe/experts.h"
#include "torch/ops/moe/rows.h"

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
static void index_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
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

static const ms_op index_op = {"index", "IndexBackward0", index_backward};

ms_tensor ms_index_mask(ms_tape *tape, ms_tensor a, ms_tensor mask, ms_dim count)
{
    if (ms_idle(tape) || !a || !mask)
        return 0;
    ms_op_mark mark = ms_op_begin(tape, &index_op);
    uint32_t node = ms_record(tape, &index_op, 1, &a);
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
