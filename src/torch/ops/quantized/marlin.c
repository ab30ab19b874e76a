/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * GPT-QModel 7.7 (gptqmodel_ext/marlin/gptq_marlin.cu, marlin_scratch.cuh): sums of tiles in fp32
 * for every multiprocessor.
 */
#include "torch/ops/quantized/marlin.h"

#include "torch/ops/ops.h"

enum { ROWS_OF_BLOCK = 16, MOST_ROWS = 64, MOST_COLUMNS = 256 };

static const ms_op marlin_op = {.name = "gptq_marlin_gemm"};

static uint64_t sums_of(const ms_tape *tape, uint64_t rows)
{
    uint64_t rounded = (rows + ROWS_OF_BLOCK - 1) / ROWS_OF_BLOCK * ROWS_OF_BLOCK;
    uint64_t tile = rounded < MOST_ROWS ? rounded : MOST_ROWS;
    return tape->options.device->multiprocessors * tile * MOST_COLUMNS;
}

ms_tensor ms_matmul_marlin(ms_tape *tape, ms_tensor x, ms_dim columns, bool sorts_inputs)
{
    if (ms_idle(tape) || !x)
        return 0;
    ms_symbols *s = &tape->trace->symbols;
    ms_op_mark mark = ms_op_begin(tape, &marlin_op);
    ms_shape shape = ms_info(tape, x)->shape;
    ms_dtype dtype = (ms_dtype)ms_info(tape, x)->dtype;
    uint64_t elements = ms_elements(&shape), rows = elements / shape.dims[shape.rank - 1].value;
    ms_op_product(tape, mark, ms_rows_times(&shape, columns.value));
    ms_op_work(tape, mark, 2.0 * (double)elements * (double)columns.value, 0, dtype);
    shape.dims[shape.rank - 1] = columns;
    ms_tensor out = ms_empty(tape, shape, dtype);
    ms_tensor sums = ms_empty(tape, MS_SHAPE(ms_dim_number(s, sums_of(tape, rows))), MS_DTYPE_F32);
    if (sorts_inputs)
        ms_transient(tape, elements * ms_dtype_bytes(dtype), dtype);
    ms_consume(tape, sums);
    return ms_op_finish(tape, mark, MS_NONE, 1, &x, out);
}
