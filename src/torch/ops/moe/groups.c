/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Products with weights of GPTQ and AWQ as in GPT-QModel 7.7 (nn_modules/qlinear/torch.py,
 * gemm_awq.py; gptqmodel_ext/awq).
 */
#include "torch/ops/ops.h"

enum { WORD_BITS = 32, WORD_BYTES = 4, INDEX_BYTES = 8 };

static const ms_op dequantize_op = {.name = "dequantize"};

/* ---- GPTQ: operator by operator, as the kernel that trains does it; torch.compile may fuse it
 * ----
 */

/* Shifts every word for each number in it, cuts the result to bytes, masks it. */
static ms_tensor unpack(ms_tape *tape, uint64_t count, uint64_t code_bytes)
{
    ms_tensor shifted = ms_empty_bytes(tape, WORD_BYTES * count, MS_DTYPE_I32);
    ms_tensor cut = ms_empty_bytes(tape, code_bytes * count, MS_DTYPE_U8);
    ms_consume(tape, shifted);
    ms_tensor codes = ms_empty_bytes(tape, code_bytes * count, MS_DTYPE_U8);
    ms_consume(tape, cut);
    return codes;
}

/* Rows by the group of each input, whose numbers become indices first. */
static ms_tensor pick(ms_tape *tape, const ms_gptq_weight *w, uint64_t number_bytes)
{
    ms_tensor index = ms_empty_bytes(tape, INDEX_BYTES * w->in.value, MS_DTYPE_I64);
    ms_tensor rows = ms_empty_bytes(tape, number_bytes * w->in.value * w->out.value, MS_DTYPE_U8);
    ms_consume(tape, index);
    return rows;
}

ms_tensor ms_dequantize_gptq(ms_tape *tape, const ms_gptq_weight *w)
{
    if (ms_idle(tape))
        return 0;
    uint64_t code_bytes = w->bits == 8 ? 2 : 1, in_word = WORD_BITS / w->bits;
    uint64_t zeros_of_group = (w->out.value + in_word - 1) / in_word * in_word;
    uint64_t rows = (w->in.value + in_word - 1) / in_word * in_word;
    ms_op_mark mark = ms_op_begin(tape, &dequantize_op);
    ms_tensor zeros = unpack(tape, w->groups * zeros_of_group, code_bytes);
    ms_tensor codes = unpack(tape, rows * w->out.value, code_bytes);
    ms_tensor scales = pick(tape, w, ms_dtype_bytes(MS_DTYPE_F16));
    ms_tensor picked = pick(tape, w, code_bytes);
    ms_tensor centred = ms_empty_bytes(tape, code_bytes * w->in.value * w->out.value, MS_DTYPE_U8);
    ms_consume(tape, picked);
    ms_tensor weight = ms_empty(tape, MS_SHAPE(w->in, w->out), MS_DTYPE_F16);
    ms_consume(tape, scales);
    ms_consume(tape, centred);
    ms_consume(tape, zeros);
    ms_consume(tape, codes);
    ms_op_operand(tape, mark, weight, true);
    ms_op_end(tape, mark);
    return weight;
}

/* ---- a sum in place, on a view ---- */

static void add_into_view_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads,
                                   ms_tensor *out)
{
    (void)node;
    ms_dtype dtype = (ms_dtype)ms_info(tape, grads[0])->dtype;
    ms_shape shape = ms_info(tape, grads[0])->shape;
    out[0] = ms_empty(tape, shape, dtype);
    ms_consume(tape, ms_empty(tape, shape, dtype));
}

static const ms_op add_into_view_op = {"add_", "CopySlices", add_into_view_backward};

ms_tensor ms_add_into_view(ms_tape *tape, ms_tensor view, ms_tensor bias)
{
    if (ms_idle(tape) || !view)
        return 0;
    (void)bias;
    ms_op_mark mark = ms_op_begin(tape, &add_into_view_op);
    uint32_t node = ms_record(tape, &add_into_view_op, 1, &view);
    ms_change_in_place(tape, view);
    const ms_tensor_info info = *ms_info(tape, view);
    return ms_op_finish(tape, mark, node, 1, &view, ms_alias(tape, view, info.shape, info.strides));
}

/* ---- AWQ ---- */

static ms_tensor dequantize_awq(ms_tape *tape, ms_dim in, ms_dim out)
{
    ms_op_mark mark = ms_op_begin(tape, &dequantize_op);
    ms_tensor weight = ms_empty(tape, MS_SHAPE(in, out), MS_DTYPE_F16);
    ms_op_operand(tape, mark, weight, true);
    ms_op_end(tape, mark);
    return weight;
}

enum { OUT, OUT_SYMBOL, NUMBERS }; /* of a node */
enum { MOST_FUSED_ROWS = 1024, SPLITS = 8 };

static void awq_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    const ms_meta meta = *ms_input_meta(tape, node, 0);
    ms_dim columns = {node->numbers[OUT], (uint32_t)node->numbers[OUT_SYMBOL]};
    ms_dtype dtype = (ms_dtype)ms_info(tape, grads[0])->dtype;
    ms_tensor weight = dequantize_awq(tape, meta.shape.dims[meta.shape.rank - 1], columns);
    weight = ms_to(tape, weight, dtype);
    out[0] = ms_empty(tape, meta.shape, dtype);
    if (out[0])
        ms_info(tape, out[0])->is_view = true;
    ms_workspace_use(tape, MS_PRODUCT_PLAIN);
    ms_op_product(
        tape, ms_op_running(tape),
        ms_rows_times(&ms_info(tape, grads[0])->shape, meta.shape.dims[meta.shape.rank - 1].value));
    ms_op_work(tape, ms_op_running(tape),
               2.0 * (double)ms_elements(&meta.shape) * (double)columns.value, 0, dtype);
    ms_consume(tape, weight);
}

static const ms_op awq_op = {"matmul_awq", "AwqGemmFnBackward", awq_backward};

/* Many rows: by the whole weight; few: in parts of the sum, in fp32. */
static ms_tensor awq_product(ms_tape *tape, ms_dim in, ms_shape shape)
{
    ms_dim columns = shape.dims[shape.rank - 1];
    uint64_t elements = ms_elements(&shape);
    if (elements / columns.value > MOST_FUSED_ROWS) {
        ms_tensor weight = dequantize_awq(tape, in, columns);
        ms_tensor out = ms_empty(tape, shape, MS_DTYPE_F16);
        ms_workspace_use(tape, MS_PRODUCT_PLAIN);
        ms_consume(tape, weight);
        return out;
    }
    ms_tensor parts = ms_empty(
        tape, MS_SHAPE(ms_dim_number(&tape->trace->symbols, SPLITS * elements)), MS_DTYPE_F32);
    ms_tensor out = ms_empty(tape, shape, MS_DTYPE_F16);
    ms_consume(tape, parts);
    return out;
}

ms_tensor ms_matmul_awq(ms_tape *tape, ms_tensor x, ms_dim columns, ms_tensor bias)
{
    if (ms_idle(tape) || !x)
        return 0;
    ms_op_mark mark = ms_op_begin(tape, &awq_op);
    uint32_t node = ms_record(tape, &awq_op, 1, &x);
    ms_node_numbers(tape, node, NUMBERS, (uint64_t[]){columns.value, columns.symbol});
    ms_shape shape = ms_info(tape, x)->shape;
    ms_dim in = shape.dims[shape.rank - 1];
    ms_op_product(tape, mark, ms_rows_times(&shape, columns.value));
    ms_op_work(tape, mark, 2.0 * (double)ms_elements(&shape) * (double)columns.value, 0,
               MS_DTYPE_F16);
    shape.dims[shape.rank - 1] = columns;
    ms_tensor out = awq_product(tape, in, shape);
    if (bias) {
        ms_tensor sum = ms_empty(tape, shape, MS_DTYPE_F16);
        ms_consume(tape, out);
        out = sum;
    }
    return ms_op_finish(tape, mark, node, 1, &x, out);
}
