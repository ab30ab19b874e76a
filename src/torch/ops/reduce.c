/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Concatenation and reductions.
 */
#include "torch/autograd/cuda_reduce.h"
#include "torch/ops/ops.h"

/* ---- deviation ---- */

/* Standard deviations of rows. */

enum { INPUT, RESULT }; /* saved */

/* As var_backward of grad / (2 * result), which is 0 where the result is:
 * (2 / N) * grad * (input - mean) */
static void std_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    ms_tensor input = node->saved[INPUT], result = node->saved[RESULT];
    ms_dtype dtype = (ms_dtype)ms_info(tape, grads[0])->dtype;
    ms_tensor twice = ms_empty_like(tape, result, dtype);
    ms_tensor divided = ms_empty_like(tape, result, dtype);
    ms_consume(tape, ms_empty_like(tape, result, MS_DTYPE_BOOL));
    ms_consume(tape, twice);
    ms_tensor mean = ms_empty_like(tape, result, dtype);
    ms_tensor centred = ms_empty_like(tape, input, dtype);
    ms_tensor factor = ms_empty_like(tape, result, dtype);
    out[0] = ms_empty_like(tape, input, dtype);
    ms_consume(tape, factor);
    ms_consume(tape, centred);
    ms_consume(tape, mean);
    ms_consume(tape, divided);
}

static const ms_op std_op = {"std", "StdBackward0", std_backward};

ms_tensor ms_std_last(ms_tape *tape, ms_tensor a)
{
    if (ms_idle(tape) || !a) {
        ms_consume(tape, a);
        return 0;
    }
    ms_op_mark mark = ms_op_begin(tape, &std_op);
    uint32_t node = ms_record(tape, &std_op, 1, &a);
    ms_shape shape = ms_info(tape, a)->shape;
    shape.dims[shape.rank - 1] = (ms_dim){.value = 1};
    ms_save(tape, node, a);
    ms_tensor out = ms_empty(tape, shape, (ms_dtype)ms_info(tape, a)->dtype);
    ms_save(tape, node, out);
    return ms_op_finish(tape, mark, node, 1, &a, out);
}

/* ---- cat of two: backward hands out narrow views of the gradient ---- */

static void cat_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    ms_tensor_info info = *ms_info(tape, grads[0]);
    for (uint32_t i = 0; i < node->edge_count; i++)
        if (ms_node_wants(node, i))
            out[i] = ms_alias(tape, grads[0], ms_input_meta(tape, node, i)->shape, info.strides);
}

/* On the CPU autocast runs cat in the wider type of its inputs; the kernel for CUDA converts. */
static void widen(ms_tape *tape, ms_tensor *a, ms_tensor *b)
{
    if (!tape->has_autocast || !tape->on_cpu)
        return;
    ms_dtype dtype =
        ms_promote((ms_dtype)ms_info(tape, *a)->dtype, (ms_dtype)ms_info(tape, *b)->dtype);
    *a = ms_to(tape, *a, dtype);
    *b = ms_to(tape, *b, dtype);
}

static const ms_op cat_op = {"cat", "CatBackward0", cat_backward};

ms_tensor ms_cat3(ms_tape *tape, const ms_tensor inputs[3], uint32_t dim)
{
    if (ms_idle(tape) || !inputs[0] || !inputs[1] || !inputs[2])
        return 0;
    ms_op_mark mark = ms_op_begin(tape, &cat_op);
    uint32_t node = ms_record(tape, &cat_op, 3, inputs);
    ms_shape shape = ms_info(tape, inputs[0])->shape;
    for (int i = 1; i < 3; i++)
        shape.dims[dim] = ms_dim_add(&tape->trace->symbols, shape.dims[dim],
                                     ms_info(tape, inputs[i])->shape.dims[dim]);
    ms_tensor out = ms_empty(tape, shape, (ms_dtype)ms_info(tape, inputs[0])->dtype);
    return ms_op_finish(tape, mark, node, 3, inputs, out);
}

ms_tensor ms_cat2(ms_tape *tape, ms_tensor a, ms_tensor b, uint32_t dim)
{
    if (ms_idle(tape) || !a || !b) {
        ms_consume(tape, a);
        ms_consume(tape, b);
        return 0;
    }
    widen(tape, &a, &b);
    if (ms_idle(tape))
        return 0;
    ms_op_mark mark = ms_op_begin(tape, &cat_op);
    ms_tensor inputs[] = {a, b};
    uint32_t node = ms_record(tape, &cat_op, 2, inputs);
    ms_shape shape = ms_info(tape, a)->shape;
    ms_dim da = shape.dims[dim], db = ms_info(tape, b)->shape.dims[dim];
    ms_symbols *symbols = &tape->trace->symbols;
    const ms_symbol *sa = &symbols->table.items[da.symbol];
    bool halves = sa->kind == MS_SYMBOL_HALF && da.symbol == db.symbol;
    shape.dims[dim] = halves ? (ms_dim){da.value * 2, sa->left} : ms_dim_add(symbols, da, db);
    ms_dtype dtype =
        ms_promote((ms_dtype)ms_info(tape, a)->dtype, (ms_dtype)ms_info(tape, b)->dtype);
    ms_tensor out = ms_empty(tape, shape, dtype);
    return ms_op_finish(tape, mark, node, 2, inputs, out);
}

/* ---- stack of two along a new last dimension ---- */

static void stack_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    ms_tensor_info info = *ms_info(tape, grads[0]);
    for (uint32_t i = 0; i < node->edge_count; i++)
        if (ms_node_wants(node, i))
            out[i] = ms_alias(tape, grads[0], ms_input_meta(tape, node, i)->shape, info.strides);
}

static const ms_op stack_op = {"stack", "StackBackward0", stack_backward};

ms_tensor ms_stack_last(ms_tape *tape, ms_tensor a, ms_tensor b)
{
    if (ms_idle(tape) || !a || !b) {
        ms_consume(tape, a);
        ms_consume(tape, b);
        return 0;
    }
    ms_op_mark mark = ms_op_begin(tape, &stack_op);
    ms_tensor inputs[] = {a, b};
    uint32_t node = ms_record(tape, &stack_op, 2, inputs);
    ms_shape shape = ms_info(tape, a)->shape;
    shape.dims[shape.rank++] = ms_dim_number(&tape->trace->symbols, 2);
    ms_tensor out = ms_empty(tape, shape, (ms_dtype)ms_info(tape, a)->dtype);
    return ms_op_finish(tape, mark, node, 2, inputs, out);
}

/* ---- mean over the last dimension, or the first ---- */

static void mean_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    out[0] = ms_empty(tape, ms_input_meta(tape, node, 0)->shape,
                      (ms_dtype)ms_info(tape, grads[0])->dtype);
}

static const ms_op mean_op = {"mean", "MeanBackward1", mean_backward};

static ms_tensor mean_as(ms_tape *tape, ms_tensor a, ms_shape shape)
{
    ms_op_mark mark = ms_op_begin(tape, &mean_op);
    uint32_t node = ms_record(tape, &mean_op, 1, &a);
    ms_dtype dtype = (ms_dtype)ms_info(tape, a)->dtype;
    ms_tensor out = ms_empty(tape, shape, dtype);
    if (tape->on_cpu) /* the sum is divided in place by a Python number */
        ms_cpu_number(tape, dtype);
    return ms_op_finish(tape, mark, node, 1, &a, out);
}

ms_tensor ms_mean_last(ms_tape *tape, ms_tensor a)
{
    if (ms_idle(tape) || !a) {
        ms_consume(tape, a);
        return 0;
    }
    ms_shape shape = ms_info(tape, a)->shape;
    shape.dims[shape.rank - 1] = (ms_dim){.value = 1};
    return mean_as(tape, a, shape);
}

ms_tensor ms_mean_first(ms_tape *tape, ms_tensor a)
{
    if (ms_idle(tape) || !a) {
        ms_consume(tape, a);
        return 0;
    }
    const ms_shape whole = ms_info(tape, a)->shape;
    return mean_as(tape, a, ms_shape_of(whole.rank - 1, &whole.dims[1]));
}

/* ---- norms of rows ---- */

static const ms_op norm_op = {"linalg_vector_norm", NULL, NULL};

ms_tensor ms_norm_last(ms_tape *tape, ms_tensor a)
{
    if (ms_idle(tape) || !a)
        return 0;
    ms_op_mark mark = ms_op_begin(tape, &norm_op);
    ms_shape shape = ms_info(tape, a)->shape;
    shape.rank--;
    ms_tensor out = ms_empty(tape, shape, (ms_dtype)ms_info(tape, a)->dtype);
    return ms_op_finish(tape, mark, MS_NONE, 1, &a, out);
}

/* ---- running sum: one row goes through CUB, several through a kernel of PyTorch's own ---- */

/* grad.flip(dim).cumsum(dim).flip(dim) */
static void cumsum_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    (void)node;
    const ms_tensor_info info = *ms_info(tape, grads[0]);
    ms_tensor flipped = ms_empty_like(tape, grads[0], (ms_dtype)info.dtype);
    ms_tensor sum = ms_empty(tape, info.shape, (ms_dtype)info.dtype);
    if (!tape->on_cpu && !ms_idle(tape))
        ms_consume(tape, ms_contiguous_copy(tape, flipped));
    out[0] = ms_empty(tape, info.shape, (ms_dtype)info.dtype);
    ms_consume(tape, sum);
    ms_consume(tape, flipped);
}

static const ms_op cumsum_op = {"cumsum", "CumsumBackward0", cumsum_backward};

ms_tensor ms_cumsum_last(ms_tape *tape, ms_tensor a)
{
    if (ms_idle(tape) || !a)
        return 0;
    ms_op_mark mark = ms_op_begin(tape, &cumsum_op);
    uint32_t node = ms_record(tape, &cumsum_op, 1, &a);
    ms_shape shape = ms_info(tape, a)->shape;
    ms_dtype from = (ms_dtype)ms_info(tape, a)->dtype;
    ms_dtype dtype = from == MS_DTYPE_BOOL || from == MS_DTYPE_I32 ? MS_DTYPE_I64 : from;
    ms_tensor out = ms_empty(tape, shape, dtype);
    ms_tensor converted = dtype != from ? ms_empty(tape, shape, dtype) : 0;
    bool is_turned = !tape->on_cpu && !ms_is_contiguous(ms_info(tape, a));
    ms_tensor copy = is_turned ? ms_empty(tape, shape, from) : 0;
    uint64_t items = ms_elements(&shape);
    if (!tape->on_cpu && items == shape.dims[shape.rank - 1].value)
        ms_transient(tape, ms_cub_scan_bytes(items), MS_DTYPE_U8);
    ms_consume(tape, copy);
    ms_consume(tape, converted);
    return ms_op_finish(tape, mark, node, 1, &a, out);
}

/* ---- sum over one dimension: backward sees the gradient expanded ---- */

enum { SUM_DIM, SUM_KEEP }; /* a node's numbers */

static void sum_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    ms_tensor_info info = *ms_info(tape, grads[0]);
    const ms_shape shape = ms_input_meta(tape, node, 0)->shape;
    uint32_t dim = (uint32_t)node->numbers[SUM_DIM];
    if (!node->numbers[SUM_KEEP])
        for (uint32_t i = shape.rank - 1; i > dim; i--)
            info.strides[i] = info.strides[i - 1];
    info.strides[dim] = 0;
    out[0] = ms_alias(tape, grads[0], shape, info.strides);
}

static const ms_op sum_dim_op = {"sum", "SumBackward1", sum_backward};

/* What the kernel needs when one block of threads cannot hold a sum of so many numbers. */
static void sum_buffers(ms_tape *tape, ms_tensor a, uint64_t inputs, bool inputs_contiguous)
{
    if (tape->on_cpu || ms_idle(tape))
        return;
    uint64_t elements = ms_elements(&ms_info(tape, a)->shape);
    ms_reduce_buffers buffers = ms_cuda_reduce_buffers(
        tape->options.device, inputs ? elements / inputs : 0, inputs, inputs_contiguous);
    if (buffers.partial_bytes == 0)
        return;
    ms_tensor partial = ms_empty_bytes(tape, buffers.partial_bytes, MS_DTYPE_U8);
    ms_transient(tape, buffers.semaphore_bytes, MS_DTYPE_I32);
    ms_consume(tape, partial);
}

static ms_tensor sum_dim(ms_tape *tape, ms_tensor a, uint32_t dim, bool keep, ms_dtype dtype)
{
    ms_op_mark mark = ms_op_begin(tape, &sum_dim_op);
    uint32_t node = ms_record(tape, &sum_dim_op, 1, &a);
    ms_node_numbers(tape, node, 2, (uint64_t[]){dim, keep});
    ms_shape shape = ms_info(tape, a)->shape;
    uint64_t inputs = shape.dims[dim].value;
    bool inputs_contiguous = dim + 1 == shape.rank;
    shape.dims[dim] = (ms_dim){.value = 1};
    if (!keep) {
        shape.rank--;
        for (uint32_t i = dim; i < shape.rank; i++)
            shape.dims[i] = shape.dims[i + 1];
    }
    ms_tensor out = ms_empty(tape, shape, dtype);
    if (tape->on_cpu && ms_info(tape, a)->dtype != dtype)
        ms_consume(tape, ms_empty_like(tape, a, dtype));
    sum_buffers(tape, a, inputs, inputs_contiguous);
    return ms_op_finish(tape, mark, node, 1, &a, out);
}

/* CUDA's autocast has sums in fp32; the kernel converts. */
ms_tensor ms_sum_dim(ms_tape *tape, ms_tensor a, uint32_t dim, bool keep)
{
    if (ms_idle(tape) || !a)
        return 0;
    bool widens = tape->has_autocast && !tape->on_cpu;
    return sum_dim(tape, a, dim, keep, widens ? MS_DTYPE_F32 : (ms_dtype)ms_info(tape, a)->dtype);
}

ms_tensor ms_sum_last_fp32(ms_tape *tape, ms_tensor a)
{
    if (ms_idle(tape) || !a)
        return 0;
    return sum_dim(tape, a, ms_info(tape, a)->shape.rank - 1, true, MS_DTYPE_F32);
}

/* ---- sums of a whole tensor ---- */

/* The gradient, expanded to the input's shape. */
static void sum_all_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    const uint64_t strides[MS_MAX_RANK] = {0};
    out[0] = ms_alias(tape, grads[0], ms_input_meta(tape, node, 0)->shape, strides);
}

static const ms_op sum_all_op = {"sum", "SumBackward0", sum_all_backward};

ms_tensor ms_sum(ms_tape *tape, ms_tensor a)
{
    if (ms_idle(tape) || !a)
        return 0;
    ms_op_mark mark = ms_op_begin(tape, &sum_all_op);
    uint32_t node = ms_record(tape, &sum_all_op, 1, &a);
    ms_tensor out = ms_empty(tape, (ms_shape){.rank = 0}, (ms_dtype)ms_info(tape, a)->dtype);
    sum_buffers(tape, a, ms_elements(&ms_info(tape, a)->shape), true);
    return ms_op_finish(tape, mark, node, 1, &a, out);
}

static const ms_op sum_op = {"sum", NULL, NULL};

ms_tensor ms_count_nonzero(ms_tape *tape, ms_tensor a)
{
    if (ms_idle(tape) || !a)
        return 0;
    ms_op_mark mark = ms_op_begin(tape, &sum_op);
    ms_shape scalar = {.rank = 0};
    ms_tensor out = ms_empty(tape, scalar, MS_DTYPE_I64);
    return ms_op_finish(tape, mark, MS_NONE, 1, &a, out);
}

ms_tensor ms_count_mask(ms_tape *tape, ms_tensor a)
{
    if (ms_idle(tape) || !a)
        return 0;
    ms_op_mark mark = ms_op_begin(tape, &sum_op);
    ms_tensor out = ms_empty(tape, (ms_shape){.rank = 0}, MS_DTYPE_I64);
    ms_tensor wide = ms_empty(tape, ms_info(tape, a)->shape, MS_DTYPE_I64);
    sum_buffers(tape, wide, ms_idle(tape) ? 0 : ms_elements(&ms_info(tape, wide)->shape), true);
    ms_consume(tape, wide);
    return ms_op_finish(tape, mark, MS_NONE, 1, &a, out);
}
