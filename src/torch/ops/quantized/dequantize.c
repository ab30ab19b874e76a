/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Products with packed weights (bitsandbytes 0.50, autograd/_functions.py: MatMul4Bit). The weight
 * is dequantised in forward, except for few rows, and again in backward; only existing tensors are
 * saved.
 */
#include "torch/ops/quantized/fused_4bit.h"
#include "torch/ops/ops.h"

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
