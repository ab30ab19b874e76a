/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Products with packed weights (bitsandbytes 0.50, autograd/_functions.py: MatMul4Bit). The weight
 * is dequantised in forward, except for few rows, and again in backward; only existing tensors are
 * saved.
 */
#include "torch/autograd/cuda_reduce.h"
#include "torch/autograd/graph.h"
#include "torch/ops/ops.h"
#include "torch/ops/quantized/fused_4bit.h"

/* ---- int8 ---- */

/* Products with weights in 8 bits (bitsandbytes 0.50, autograd/_functions.py: MatMul8bitLt, and its
 * kernels for CUDA). The rows of the input are quantised too; the product is of integers. Columns
 * with outliers, which are multiplied separately, are assumed to be absent, because their number
 * depends on values. Weights whose row length is no multiple of 4 use another code path, which is
 * not modelled. */

enum { INT8_OUT, INT8_OUT_SYMBOL, INT8_NUMBERS }; /* of a node */

/* The weight is made whole in the type of the input, and no product is in place of another: the
 * gradient is a view. */
static void int8_matmul_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads,
                                 ms_tensor *out)
{
    const ms_meta *meta = ms_input_meta(tape, node, 0);
    const ms_shape shape = meta->shape;
    ms_dtype dtype = (ms_dtype)meta->dtype;
    ms_dim rows = {node->numbers[INT8_OUT], (uint32_t)node->numbers[INT8_OUT_SYMBOL]};
    ms_tensor weight = ms_empty(tape, MS_SHAPE(rows, shape.dims[shape.rank - 1]), dtype);
    ms_consume(tape, ms_empty(tape, MS_SHAPE(rows), MS_DTYPE_F32));
    ms_tensor grad = ms_to(tape, grads[0], dtype);
    out[0] = ms_empty(tape, shape, dtype);
    if (out[0])
        ms_info(tape, out[0])->is_view = true;
    ms_workspace_use(tape, MS_PRODUCT_PLAIN);
    ms_op_product(tape, ms_op_running(tape),
                  ms_rows_times(&ms_info(tape, grads[0])->shape, shape.dims[shape.rank - 1].value));
    ms_op_work(tape, ms_op_running(tape), 2.0 * (double)ms_elements(&shape) * (double)rows.value, 0,
               dtype);
    ms_consume(tape, grad);
    ms_consume(tape, weight);
}

static const ms_op int8_matmul_op = {"matmul_8bit", "MatMul8bitLtBackward", int8_matmul_backward};

/* outliers.any(), and what zeroing no columns of several rows copies to the device */
static void look_for_outliers(ms_tape *tape, uint64_t count, bool has_rows)
{
    ms_tensor found = ms_empty(tape, (ms_shape){.rank = 0}, MS_DTYPE_BOOL);
    ms_reduce_buffers buffers = ms_cuda_reduce_buffers(tape->options.device, 1, count, true);
    if (buffers.partial_bytes) { /* of one byte each where a sum's have four */
        ms_tensor partial = ms_empty_bytes(tape, buffers.partial_bytes / 4, MS_DTYPE_U8);
        ms_transient(tape, buffers.semaphore_bytes, MS_DTYPE_I32);
        ms_consume(tape, partial);
    }
    ms_consume(tape, found);
    if (has_rows)
        ms_transient(tape, 1, MS_DTYPE_U8);
}

/* Yields the rows in 8 bits, and their scales in `scales`. */
static ms_tensor quantize_rows(ms_tape *tape, ms_tensor x, ms_tensor *scales)
{
    ms_shape shape = ms_info(tape, x)->shape;
    bool is_half = ms_info(tape, x)->dtype == MS_DTYPE_F16;
    uint64_t count = ms_elements(&shape), width = shape.dims[shape.rank - 1].value;
    ms_tensor half = is_half ? 0 : ms_empty(tape, shape, MS_DTYPE_F16);
    *scales =
        ms_empty(tape, MS_SHAPE(ms_dim_number(&tape->trace->symbols, count / width)), MS_DTYPE_F32);
    ms_tensor rows = ms_empty(tape, shape, MS_DTYPE_U8);
    ms_tensor absolute = ms_empty(tape, shape, MS_DTYPE_F16);
    ms_tensor outliers = ms_empty(tape, shape, MS_DTYPE_BOOL);
    ms_consume(tape, absolute);
    look_for_outliers(tape, count, count > width);
    ms_consume(tape, outliers);
    ms_consume(tape, half);
    return rows;
}

/* The product in integers, then in fp16, then in the type that came in. */
static ms_tensor product(ms_tape *tape, ms_shape shape, ms_dtype dtype)
{
    ms_tensor integers = ms_empty(tape, shape, MS_DTYPE_I32);
    ms_tensor half = ms_empty(tape, shape, MS_DTYPE_F16);
    ms_tensor out = dtype == MS_DTYPE_F16 ? half : ms_empty(tape, shape, dtype);
    if (out != half)
        ms_consume(tape, half);
    ms_consume(tape, integers);
    return out;
}

ms_tensor ms_matmul_8bit(ms_tape *tape, ms_tensor x, ms_dim columns)
{
    if (ms_idle(tape) || !x)
        return 0;
    ms_op_mark mark = ms_op_begin(tape, &int8_matmul_op);
    uint32_t node = ms_record(tape, &int8_matmul_op, 1, &x);
    ms_node_numbers(tape, node, INT8_NUMBERS, (uint64_t[]){columns.value, columns.symbol});
    ms_dtype dtype = (ms_dtype)ms_info(tape, x)->dtype;
    ms_shape shape = ms_info(tape, x)->shape;
    double flops = 2.0 * (double)ms_elements(&shape) * (double)columns.value;
    ms_op_product(tape, mark, ms_rows_times(&shape, columns.value));
    ms_tensor scales, rows = quantize_rows(tape, x, &scales);
    shape.dims[shape.rank - 1] = columns;
    ms_tensor out = product(tape, shape, dtype);
    ms_consume(tape, rows);
    ms_consume(tape, scales);
    ms_op_work(tape, mark, flops, 0, MS_DTYPE_F16);
    if (node != MS_NONE)
        ms_graph_hold_activation(tape, x); /* an attribute of the node's context */
    return ms_op_finish(tape, mark, node, 1, &x, out);
}

/* ---- dequantize ---- */

enum { OUT, OUT_SYMBOL, IN, IN_SYMBOL, SCALES, IS_DOUBLE, DTYPE, NUMBERS }; /* of a node */

static const ms_op dequantize_op = {.name = "dequantize_4bit"};

/* The weight, and the scales that were made for it. Forward adds the offset to a copy of the scales
 * and keeps both until the product is made; backward adds in place. */
static ms_tensor dequantize(ms_tape *tape, const ms_packed_weight *w, ms_dtype dtype,
                            ms_tensor scales[2])
{
    ms_op_mark mark = ms_op_begin(tape, &dequantize_op);
    ms_shape shape = MS_SHAPE(ms_dim_number(&tape->trace->symbols, w->scales));
    scales[0] = w->is_double ? ms_empty(tape, shape, MS_DTYPE_F32) : 0;
    scales[1] = w->is_double && !tape->in_backward ? ms_empty(tape, shape, MS_DTYPE_F32) : 0;
    ms_tensor weight = ms_empty(tape, MS_SHAPE(w->out, w->in), dtype);
    ms_op_operand(tape, mark, weight, true);
    ms_op_end(tape, mark);
    return weight;
}

static void drop(ms_tape *tape, const ms_tensor scales[2])
{
    if (scales[1])
        ms_consume(tape, scales[1]);
    if (scales[0])
        ms_consume(tape, scales[0]);
}

static void matmul_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    const uint64_t *n = node->numbers;
    const ms_packed_weight w = {.out = {n[OUT], (uint32_t)n[OUT_SYMBOL]},
                                .in = {n[IN], (uint32_t)n[IN_SYMBOL]},
                                .scales = n[SCALES],
                                .is_double = n[IS_DOUBLE]};
    const ms_shape shape = ms_input_meta(tape, node, 0)->shape;
    ms_dtype dtype = (ms_dtype)ms_info(tape, grads[0])->dtype;
    ms_tensor scales[2], weight = dequantize(tape, &w, (ms_dtype)n[DTYPE], scales);
    drop(tape, scales);
    weight = ms_to(tape, weight, dtype);
    out[0] = ms_empty(tape, shape, dtype);
    ms_workspace_use(tape, MS_PRODUCT_PLAIN);
    ms_op_product(tape, ms_op_running(tape),
                  ms_rows_times(&ms_info(tape, grads[0])->shape, w.in.value));
    ms_op_work(tape, ms_op_running(tape), 2.0 * (double)ms_elements(&shape) * (double)w.out.value,
               0, dtype);
    ms_consume(tape, weight);
}

static const ms_op matmul_op = {"matmul_4bit", "MatMul4BitBackward", matmul_backward};

/* F.linear on what was dequantised: autocast takes weight and rows to its own type, if bitsandbytes
 * computes in another. */
static ms_dtype product_dtype(const ms_tape *tape, ms_dtype dtype, bool is_fused)
{
    return tape->has_autocast && !is_fused ? (ms_dtype)tape->autocast_dtype : dtype;
}

static ms_tensor lowered(ms_tape *tape, ms_tensor tensor, ms_dtype from, ms_dtype to)
{
    return tensor && from != to ? ms_empty(tape, ms_info(tape, tensor)->shape, to) : 0;
}

ms_tensor ms_matmul_4bit(ms_tape *tape, ms_tensor x, const ms_packed_weight *w, bool has_bias)
{
    if (ms_idle(tape) || !x)
        return 0;
    ms_op_mark mark = ms_op_begin(tape, &matmul_op);
    uint32_t node = ms_record(tape, &matmul_op, 1, &x);
    ms_node_numbers(tape, node, NUMBERS,
                    (uint64_t[]){w->out.value, w->out.symbol, w->in.value, w->in.symbol, w->scales,
                                 w->is_double, w->dtype});
    ms_dtype dtype = (ms_dtype)ms_info(tape, x)->dtype;
    ms_shape shape = ms_info(tape, x)->shape;
    ms_op_product(tape, mark, ms_rows_times(&shape, w->out.value));
    uint64_t elements = ms_elements(&shape), in = shape.dims[shape.rank - 1].value;
    bool is_fused = ms_is_fused_4bit(tape->options.device, dtype, elements / in, w->out.value, in);
    ms_tensor scales[2] = {0}, weight = is_fused ? 0 : dequantize(tape, w, dtype, scales);
    shape.dims[shape.rank - 1] = w->out;
    ms_dtype made = product_dtype(tape, dtype, is_fused);
    ms_tensor low_weight = lowered(tape, weight, dtype, made),
              low_x = lowered(tape, x, dtype, made);
    ms_tensor out = ms_empty(tape, shape, made);
    bool is_biased = has_bias && !tape->has_own_linear; /* DeepSpeed's adds it in place */
    if (!is_fused)
        ms_workspace_use(tape, is_biased ? MS_PRODUCT_BIASED : MS_PRODUCT_PLAIN);
    ms_op_work(tape, mark, 2.0 * (double)elements * (double)w->out.value, 0, made);
    if (low_x)
        ms_consume(tape, low_x);
    if (low_weight)
        ms_consume(tape, low_weight);
    drop(tape, scales);
    ms_consume(tape, weight);
    return ms_op_finish(tape, mark, node, 1, &x, out);
}
