/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Products with fp8 weights with one scale per block of 128 by 128 (transformers 5.23,
 * integrations/finegrained_fp8.py). Forward is one kernel, which also quantises its input; backward
 * dequantises the weight, for stacked experts 1 GiB at a time.
 */
#include "torch/ops/quantized/fp8.h"

#include "torch/ops/moe/experts.h"
#include "torch/autograd/engine.h"
#include "torch/ops/moe/grouped.h"

enum { BLOCK = 128 };

static uint64_t blocks_of(uint64_t count)
{
    return count / BLOCK + (count % BLOCK != 0);
}

typedef struct stack {
    uint64_t experts; /* 0: a single matrix */
    ms_dim out, in;
} stack;

static void put_stack(ms_tape *tape, uint32_t node, const stack *s)
{
    ms_node_numbers(
        tape, node, 5,
        (uint64_t[]){s->experts, s->out.value, s->out.symbol, s->in.value, s->in.symbol});
}

static stack stack_of(const ms_node *node)
{
    const uint64_t *n = node->numbers;
    return (stack){n[0], {n[1], (uint32_t)n[2]}, {n[3], (uint32_t)n[4]}};
}

/* That many matrices dequantised, by scales repeated over the rows; these are left in `repeated`.
 */
static ms_tensor dequantize(ms_tape *tape, const stack *s, uint64_t count, ms_dtype dtype,
                            ms_tensor *repeated)
{
    ms_symbols *symbols = &tape->trace->symbols;
    uint64_t down = blocks_of(s->out.value), across = blocks_of(s->in.value);
    ms_tensor scales =
        ms_empty(tape, MS_SHAPE(ms_dim_number(symbols, count * down * across)), dtype);
    ms_dim many = ms_dim_number(symbols, count);
    ms_tensor weight =
        ms_empty(tape, s->experts ? MS_SHAPE(many, s->out, s->in) : MS_SHAPE(s->out, s->in), dtype);
    *repeated =
        ms_empty(tape, MS_SHAPE(ms_dim_number(symbols, count * down * BLOCK * across)), dtype);
    ms_consume(tape, scales);
    return weight;
}

/* ---- a linear layer ---- */

static void matmul_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    const stack s = stack_of(node);
    const ms_shape shape = ms_input_meta(tape, node, 0)->shape;
    ms_dtype dtype = (ms_dtype)ms_info(tape, grads[0])->dtype;
    ms_tensor repeated, weight = dequantize(tape, &s, 1, dtype, &repeated);
    ms_consume(tape, repeated);
    out[0] = ms_empty(tape, shape, dtype);
    ms_workspace_use(tape, MS_PRODUCT_PLAIN);
    ms_op_product(tape, ms_op_running(tape),
                  ms_rows_times(&ms_info(tape, grads[0])->shape, s.in.value));
    ms_op_work(tape, ms_op_running(tape), 2.0 * (double)ms_elements(&shape) * (double)s.out.value,
               0, dtype);
    ms_consume(tape, weight);
}

static const ms_op matmul_op = {"fp8_linear", "FP8LinearFunctionBackward", matmul_backward};

ms_tensor ms_matmul_fp8(ms_tape *tape, ms_tensor x, ms_dim columns)
{
    if (ms_idle(tape) || !x)
        return 0;
    ms_op_mark mark = ms_op_begin(tape, &matmul_op);
    uint32_t node = ms_record(tape, &matmul_op, 1, &x);
    ms_shape shape = ms_info(tape, x)->shape;
    ms_dtype dtype = (ms_dtype)ms_info(tape, x)->dtype;
    const stack s = {0, columns, shape.dims[shape.rank - 1]};
    put_stack(tape, node, &s);
    ms_op_product(tape, mark, ms_rows_times(&shape, columns.value));
    ms_op_work(tape, mark, 2.0 * (double)ms_elements(&shape) * (double)columns.value, 0, dtype);
    shape.dims[shape.rank - 1] = columns;
    return ms_op_finish(tape, mark, node, 1, &x, ms_empty(tape, shape, dtype));
}

/* ---- stacks of experts ---- */

static const uint64_t most_whole_bytes = UINT64_C(1) << 30;

/* Some experts at a time: the rows of each lot are taken as its share of all. */
static ms_tensor gradient_in_lots(ms_tape *tape, const stack *s, const ms_shape *shape,
                                  ms_dtype dtype, uint64_t lot)
{
    ms_symbols *symbols = &tape->trace->symbols;
    ms_tensor out = ms_empty(tape, *shape, dtype);
    for (uint64_t first = 0; first < s->experts; first += lot) {
        uint64_t count = s->experts - first < lot ? s->experts - first : lot;
        ms_dim rows = ms_dim_number(symbols, shape->dims[0].value * count / s->experts);
        if (rows.value == 0)
            continue;
        ms_tensor repeated, weight = dequantize(tape, s, count, dtype, &repeated);
        ms_consume(tape, repeated);
        ms_tensor ends = ms_empty(tape, MS_SHAPE(ms_dim_number(symbols, count)), MS_DTYPE_I32);
        ms_tensor part = ms_empty(tape, MS_SHAPE(rows, s->in), dtype);
        ms_grouped_workspace(tape, dtype, count, rows.value / count, s->in.value);
        ms_consume(tape, ends);
        ms_consume(tape, part);
        ms_consume(tape, weight);
    }
    return out;
}

static void grouped_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    const stack s = stack_of(node);
    const ms_shape shape = ms_input_meta(tape, node, 0)->shape;
    ms_dtype dtype = (ms_dtype)ms_info(tape, grads[0])->dtype;
    uint64_t expert_bytes = s.out.value * s.in.value * ms_dtype_bytes(dtype);
    uint64_t lot = most_whole_bytes / expert_bytes ? most_whole_bytes / expert_bytes : 1;
    ms_op_work(tape, ms_op_running(tape), 2.0 * (double)ms_elements(&shape) * (double)s.out.value,
               0, dtype);
    if (lot < s.experts) {
        out[0] = gradient_in_lots(tape, &s, &shape, dtype, lot);
        return;
    }
    ms_tensor repeated, weight = dequantize(tape, &s, s.experts, dtype, &repeated);
    ms_consume(tape, repeated);
    out[0] = ms_empty(tape, shape, dtype);
    ms_grouped_workspace(tape, dtype, s.experts, shape.dims[0].value / s.experts, s.in.value);
    ms_consume(tape, weight);
}

static const ms_op grouped_op = {"fp8_grouped_matmul", "FP8GroupedMatmulFunctionBackward",
                                 grouped_backward};

ms_tensor ms_grouped_fp8(ms_tape *tape, ms_tensor x, ms_tensor weights, ms_tensor offsets)
{
    if (ms_idle(tape) || !x || !weights)
        return 0;
    ms_op_mark mark = ms_op_begin(tape, &grouped_op);
    uint32_t node = ms_record(tape, &grouped_op, 1, &x);
    ms_save(tape, node, offsets);
    ms_shape shape = ms_info(tape, x)->shape;
    const ms_shape *experts = &ms_info(tape, weights)->shape;
    const stack s = {experts->dims[0].value, experts->dims[1], experts->dims[2]};
    put_stack(tape, node, &s);
    ms_dtype dtype = (ms_dtype)ms_info(tape, x)->dtype;
    ms_op_work(tape, mark, 2.0 * (double)ms_elements(&shape) * (double)s.out.value, 0, dtype);
    shape.dims[1] = s.out;
    ms_tensor out = ms_empty(tape, shape, dtype);
    return ms_op_finish(tape, mark, node, 2, (ms_tensor[]){x, offsets}, out);
}
