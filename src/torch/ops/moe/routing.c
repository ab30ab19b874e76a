/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "torch/ops/moe/routing.h"

#include "torch/ops/moe/experts.h"

/* ---- choosing ---- */

static ms_dtype choosing_dtype_of(ms_tape *tape, ms_tensor a)
{
    return (ms_dtype)ms_info(tape, a)->dtype;
}

/* The gradient goes into zeros of the input's shape. */
static void into_zeros(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    out[0] = ms_empty(tape, ms_input_meta(tape, node, 0)->shape, choosing_dtype_of(tape, grads[0]));
}

/* ---- max and topk: keep where the values were ---- */

/* Values and indices of `shape`, made with the temporary memory of `work`, which may be NULL. */
static void select_values(ms_tape *tape, const ms_op *op, ms_tensor a, ms_shape shape,
                          void (*work)(ms_tape *tape, ms_tensor a), ms_tensor out[2])
{
    ms_op_mark mark = ms_op_begin(tape, op);
    uint32_t node = ms_record(tape, op, 1, &a);
    ms_tensor values = ms_empty(tape, shape, choosing_dtype_of(tape, a));
    ms_tensor indices = ms_empty(tape, shape, MS_DTYPE_I64);
    ms_retain(tape, indices);
    ms_save(tape, node, indices);
    ms_op_operand(tape, mark, indices, true);
    if (work)
        work(tape, a);
    out[0] = ms_op_finish(tape, mark, node, 1, &a, values);
    out[1] = ms_unown(tape, indices);
    if (!tape->stopped)
        return;
    ms_consume(tape, out[1]);
    out[1] = 0;
}

static const ms_op max_op = {"max", "MaxBackward0", into_zeros};

void ms_max_last(ms_tape *tape, ms_tensor a, bool keep, ms_tensor out[2])
{
    out[0] = out[1] = 0;
    if (ms_idle(tape) || !a)
        return;
    ms_shape shape = ms_info(tape, a)->shape;
    shape.dims[shape.rank - 1] = (ms_dim){.value = 1};
    shape.rank -= keep ? 0 : 1;
    select_values(tape, &max_op, a, shape, NULL, out);
}

static const ms_op topk_op = {"topk", "TopkBackward0", into_zeros};

/* Whether CUDA searches rows of so many elements in blocks (ATen, TensorTopK.cu). */
static bool searches_in_blocks(uint64_t rows, uint64_t length)
{
    static const struct {
        uint64_t most_rows, least_length;
    } bounds[] = {{20, 20000}, {40, 10000}, {80, 8000}, {199, 5000}, {799, 3000}, {4000, 800}};
    size_t i = 0;
    while (i < sizeof bounds / sizeof *bounds && rows > bounds[i].most_rows)
        i++;
    return length >= (i < sizeof bounds / sizeof *bounds ? bounds[i].least_length : 400);
}

/* How many blocks search a row: each of 256 threads takes the more, from 4 to 64 elements, the more
 * there are for all the blocks that a device runs at once, 6 by their registers. */
static uint64_t blocks_of_row(ms_tape *tape, uint64_t rows, uint64_t length)
{
    enum { THREADS = 256, BLOCKS = 6, LEAST = 4, MOST = 64 };
    const uint64_t threads = (uint64_t)THREADS * BLOCKS * tape->options.device->multiprocessors;
    uint64_t each = threads ? (rows * length + threads - 1) / threads : MOST;
    each = each < LEAST ? LEAST : each > MOST ? MOST : each;
    return (length + each * THREADS - 1) / (each * THREADS);
}

/* CUB's scan of 32-bit numbers by key: 8 bytes of state a tile. */
static uint64_t scan_by_key_bytes(uint64_t items)
{
    enum { ALIGN = 256, TILE = 1920, PADDING_TILES = 32 };
    const uint64_t state = 8 * (PADDING_TILES + (items + TILE - 1) / TILE);
    return (state + ALIGN - 1) / ALIGN * ALIGN + 3 * ALIGN - 1;
}

/* The tables of a search in blocks: of each row what was found so far, counts of 256 digits of each
 * block and row, and of each block how many are within; two scans of the latter. */
static void search_in_blocks(ms_tape *tape, ms_tensor a)
{
    enum { DIGITS = 256, TABLES = 7 };
    if (ms_idle(tape) || tape->on_cpu)
        return;
    const ms_tensor_info info = *ms_info(tape, a);
    const uint64_t length = info.shape.dims[info.shape.rank - 1].value;
    const uint64_t rows = ms_elements(&info.shape) / length;
    if (!searches_in_blocks(rows, length))
        return;
    const uint64_t blocks = rows * blocks_of_row(tape, rows, length);
    const uint64_t bytes[TABLES] = {rows * ms_dtype_bytes((ms_dtype)info.dtype),
                                    rows * 8,
                                    rows * 8,
                                    blocks * DIGITS * 2,
                                    rows * DIGITS * 4,
                                    blocks * 4,
                                    blocks * 4};
    ms_tensor tables[TABLES];
    for (int i = 0; i < TABLES; i++)
        tables[i] = ms_empty_bytes(tape, bytes[i], MS_DTYPE_I64);
    for (int i = 0; i < 2; i++)
        ms_transient(tape, scan_by_key_bytes(blocks), MS_DTYPE_I64);
    for (int i = TABLES - 1; i >= 0; i--)
        ms_consume(tape, tables[i]);
}

void ms_topk(ms_tape *tape, ms_tensor a, ms_dim k, ms_tensor out[2])
{
    out[0] = out[1] = 0;
    if (ms_idle(tape) || !a)
        return;
    ms_shape shape = ms_info(tape, a)->shape;
    shape.dims[shape.rank - 1] = k;
    select_values(tape, &topk_op, a, shape, search_in_blocks, out);
}

ms_tensor ms_zeros_like(ms_tape *tape, ms_tensor a)
{
    return ms_idle(tape) || !a ? 0 : ms_empty_like(tape, a, choosing_dtype_of(tape, a));
}

/* ---- masks: backward fills the gradient ---- */

static void masked_fill_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads,
                                 ms_tensor *out)
{
    (void)node;
    out[0] = ms_empty(tape, ms_info(tape, grads[0])->shape, choosing_dtype_of(tape, grads[0]));
}

static const ms_op masked_fill_op = {"masked_fill", "MaskedFillBackward0", masked_fill_backward};
static const ms_op masked_fill_in_place_op = {"masked_fill_", "MaskedFillBackward0",
                                              masked_fill_backward};

ms_tensor ms_where_zero(ms_tape *tape, ms_tensor a)
{
    if (ms_idle(tape) || !a)
        return 0;
    ms_tensor as_bool = ms_empty_like(tape, a, MS_DTYPE_BOOL);
    ms_tensor out = ms_empty_like(tape, as_bool, MS_DTYPE_BOOL);
    ms_consume(tape, as_bool);
    ms_consume(tape, a);
    return out;
}

ms_tensor ms_masked_fill(ms_tape *tape, ms_tensor a, ms_tensor mask)
{
    if (ms_idle(tape) || !a || !mask)
        return 0;
    ms_op_mark mark = ms_op_begin(tape, &masked_fill_op);
    ms_tensor inputs[] = {a, mask};
    uint32_t node = ms_record(tape, &masked_fill_op, 1, inputs);
    ms_save(tape, node, mask);
    ms_tensor out =
        ms_empty(tape, ms_info(tape, a)->shape, choosing_dtype_of(tape, a)); /* contiguous */
    return ms_op_finish(tape, mark, node, 2, inputs, out);
}

ms_tensor ms_masked_fill_(ms_tape *tape, ms_tensor a, ms_tensor mask)
{
    if (ms_idle(tape) || !a || !mask)
        return 0;
    ms_op_mark mark = ms_op_begin(tape, &masked_fill_in_place_op);
    ms_tensor inputs[] = {a, mask};
    uint32_t node = ms_record(tape, &masked_fill_in_place_op, 1, inputs);
    ms_save(tape, node, mask);
    return ms_op_finish(tape, mark, node, 2, inputs, ms_same_storage(tape, a));
}

/* ---- gather ---- */

/* The CPU adds up numbers of half precision in fp32. */
static void gather_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    into_zeros(tape, node, grads, out);
    if (tape->on_cpu && choosing_dtype_of(tape, out[0]) != MS_DTYPE_F32)
        ms_consume(tape, ms_empty_like(tape, out[0], MS_DTYPE_F32));
}

static const ms_op gather_op = {"gather", "GatherBackward0", gather_backward};

ms_tensor ms_gather_last(ms_tape *tape, ms_tensor a, ms_tensor indices)
{
    if (ms_idle(tape) || !a || !indices)
        return 0;
    ms_op_mark mark = ms_op_begin(tape, &gather_op);
    ms_tensor inputs[] = {a, indices};
    uint32_t node = ms_record(tape, &gather_op, 1, inputs);
    ms_save(tape, node, indices);
    ms_save(tape, node, a);
    ms_tensor out = ms_empty(tape, ms_info(tape, indices)->shape, choosing_dtype_of(tape, a));
    return ms_op_finish(tape, mark, node, 2, inputs, out);
}

/* ---- scatter: the values' gradient is gathered ---- */

enum { SCATTER_TARGET, SCATTER_VALUES }; /* inputs */

static void scatter_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    const ms_meta values = *ms_input_meta(tape, node, SCATTER_VALUES);
    if (ms_node_wants(node, SCATTER_VALUES))
        out[SCATTER_VALUES] = ms_empty(tape, values.shape, choosing_dtype_of(tape, grads[0]));
}

static const ms_op scatter_op = {"scatter_", "ScatterBackward0", scatter_backward};

ms_tensor ms_scatter_last_into(ms_tape *tape, ms_tensor a, ms_tensor indices, ms_tensor values)
{
    if (ms_idle(tape) || !a || !indices || !values)
        return 0;
    ms_op_mark mark = ms_op_begin(tape, &scatter_op);
    ms_tensor inputs[] = {a, values};
    uint32_t node = ms_record(tape, &scatter_op, 2, inputs);
    ms_save(tape, node, indices);
    return ms_op_finish(tape, mark, node, 2, inputs, ms_same_storage(tape, a));
}

/* ---- routing ---- */

static ms_dtype dtype_of(ms_tape *tape, ms_tensor a)
{
    return (ms_dtype)ms_info(tape, a)->dtype;
}

/* ---- division in place: the dividend is copied first, if the divisor's gradient needs it ---- */

enum { DIV_DIVISOR, DIV_DIVIDEND }; /* saved */

/* -grad * ((self / other) / other), then grad / other */
static void div_into_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    ms_tensor other = node->saved[DIV_DIVISOR], self = node->saved[DIV_DIVIDEND];
    ms_dtype dtype = dtype_of(tape, grads[0]);
    ms_tensor quotient = ms_elementwise_out(tape, 2, (ms_tensor[]){self, other}, dtype);
    ms_tensor square = ms_elementwise_out(tape, 2, (ms_tensor[]){quotient, other}, dtype);
    ms_tensor negative = ms_empty_like(tape, grads[0], dtype);
    out[1] = ms_elementwise_out(tape, 2, (ms_tensor[]){negative, square}, dtype);
    ms_consume(tape, negative);
    ms_consume(tape, square);
    ms_consume(tape, quotient);
    out[0] = ms_elementwise_out(tape, 2, (ms_tensor[]){grads[0], other}, dtype);
}

static const ms_op div_into_op = {"div_", "DivBackward0", div_into_backward};

ms_tensor ms_div_into(ms_tape *tape, ms_tensor a, ms_tensor b)
{
    if (ms_idle(tape) || !a || !b)
        return 0;
    ms_op_mark mark = ms_op_begin(tape, &div_into_op);
    ms_tensor inputs[] = {a, b};
    uint32_t node = ms_record(tape, &div_into_op, 2, inputs);
    ms_tensor dividend = node != MS_NONE ? ms_empty_like(tape, a, dtype_of(tape, a)) : 0;
    ms_save(tape, node, b);
    ms_save(tape, node, dividend);
    ms_consume(tape, dividend);
    ms_change_in_place(tape, a);
    const ms_tensor_info info = *ms_info(tape, a);
    return ms_op_finish(tape, mark, node, 2, inputs, ms_alias(tape, a, info.shape, info.strides));
}

static const ms_op div_by_op = {"div", "DivBackward0", div_into_backward};

ms_tensor ms_div_by(ms_tape *tape, ms_tensor a, ms_tensor b)
{
    if (ms_idle(tape) || !a || !b)
        return 0;
    ms_op_mark mark = ms_op_begin(tape, &div_by_op);
    const ms_tensor inputs[] = {a, b};
    uint32_t node = ms_record(tape, &div_by_op, 2, inputs);
    ms_save(tape, node, b);
    ms_save(tape, node, a);
    ms_tensor out = ms_elementwise_out(tape, 2, inputs, dtype_of(tape, a));
    return ms_op_finish(tape, mark, node, 2, inputs, out);
}

/* ---- sum in place ---- */

static void add_into_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    (void)tape;
    for (uint32_t i = 0; i < node->edge_count; i++)
        if (ms_node_wants(node, i))
            out[i] = grads[0];
}

static const ms_op add_into_op = {"add_", "AddBackward0", add_into_backward};

ms_tensor ms_add_into(ms_tape *tape, ms_tensor a, ms_tensor b)
{
    if (ms_idle(tape) || !a || !b)
        return 0;
    ms_op_mark mark = ms_op_begin(tape, &add_into_op);
    ms_tensor inputs[] = {a, b};
    uint32_t node = ms_record(tape, &add_into_op, 2, inputs);
    ms_change_in_place(tape, a);
    const ms_tensor_info info = *ms_info(tape, a);
    return ms_op_finish(tape, mark, node, 2, inputs, ms_alias(tape, a, info.shape, info.strides));
}

/* ---- sort: small ones in place, larger ones through CUB ---- */

static const ms_op sort_op = {"sort", NULL, NULL};

void ms_sort(ms_tape *tape, ms_tensor a, ms_tensor out[2])
{
    enum { LARGEST_IN_PLACE = 4096 };
    out[0] = out[1] = 0;
    if (ms_idle(tape) || !a)
        return;
    ms_op_mark mark = ms_op_begin(tape, &sort_op);
    ms_shape shape = ms_info(tape, a)->shape;
    uint64_t items = ms_elements(&shape);
    ms_tensor values = ms_empty(tape, shape, dtype_of(tape, a));
    ms_tensor indices = ms_empty(tape, shape, MS_DTYPE_I64);
    ms_tensor range = ms_empty(tape, shape, MS_DTYPE_I64);
    if (!tape->on_cpu && items > LARGEST_IN_PLACE)
        ms_transient(tape,
                     dtype_of(tape, a) == MS_DTYPE_F32 ? ms_cub_sort32_bytes(tape, items)
                                                       : ms_cub_sort_bytes(tape, items, 64),
                     MS_DTYPE_U8);
    ms_consume(tape, range);
    ms_retain(tape, indices);
    ms_op_operand(tape, mark, indices, true);
    out[0] = ms_op_finish(tape, mark, MS_NONE, 1, &a, values);
    out[1] = ms_unown(tape, indices);
}

/* ---- counts ---- */

enum { CPU_THREADS = 2 };

static const ms_op histogram_op = {"histc", NULL, NULL};

ms_tensor ms_histogram(ms_tape *tape, ms_tensor a, ms_dim bins)
{
    if (ms_idle(tape) || !a)
        return 0;
    ms_op_mark mark = ms_op_begin(tape, &histogram_op);
    ms_dtype dtype = dtype_of(tape, a);
    uint64_t bytes = bins.value * ms_dtype_bytes(dtype);
    ms_tensor edges = tape->on_cpu ? ms_empty_bytes(tape, bytes + ms_dtype_bytes(dtype), dtype) : 0;
    ms_tensor out = ms_empty(tape, MS_SHAPE(bins), dtype);
    if (tape->on_cpu)
        ms_transient(tape, CPU_THREADS * bytes, dtype);
    ms_consume(tape, edges);
    return ms_op_finish(tape, mark, MS_NONE, 1, &a, out);
}

static const ms_op offsets_op = {"cumsum", NULL, NULL};

ms_tensor ms_offsets(ms_tape *tape, ms_tensor counts)
{
    if (ms_idle(tape) || !counts)
        return 0;
    ms_op_mark mark = ms_op_begin(tape, &offsets_op);
    ms_shape shape = ms_info(tape, counts)->shape;
    ms_tensor out = ms_empty(tape, shape, MS_DTYPE_I32);
    if (tape->on_cpu)
        ms_transient(tape, ms_tensor_bytes(tape, out), MS_DTYPE_I32);
    else
        ms_transient(tape, ms_cub_scan32_bytes(ms_elements(&shape)), MS_DTYPE_U8);
    return ms_op_finish(tape, mark, MS_NONE, 1, &counts, out);
}

static const ms_op inverse_order_op = {"index_put_", NULL, NULL};

ms_tensor ms_inverse_order(ms_tape *tape, ms_tensor order)
{
    if (ms_idle(tape) || !order)
        return 0;
    ms_op_mark mark = ms_op_begin(tape, &inverse_order_op);
    ms_shape shape = ms_info(tape, order)->shape;
    ms_tensor out = ms_empty(tape, shape, MS_DTYPE_I64);
    ms_consume(tape, ms_empty(tape, shape, MS_DTYPE_I64));
    return ms_op_finish(tape, mark, MS_NONE, 1, &order, out);
}
