/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Scratch memory of oneDNN's bfloat16 matrix products on the CPU, as requested on a processor with
 * AVX-512 and two threads: fitted to requests for some 120 shapes (docs/semantics/libraries.md).
 * Other processors request other sizes, and runs on them differ only by these buffers.
 */
#include "torch/ops/ops.h"

enum {
    THREADS = 2,
    ROW_BLOCK = 256,
    COLUMN_BLOCK = 64,
    INNER_STEP = 32,
    SMALLEST_WORK = 16 * 16 * 16,
    PLAIN_BYTES = 1664,
    TRANSPOSED_BYTES = 1792
};

static uint64_t rounded_up(uint64_t n, uint64_t step)
{
    return (n + step - 1) / step * step;
}

/* Rows are cut into equal blocks of at most 256. */
static uint64_t row_blocks(uint64_t rows)
{
    uint64_t blocks = (rows + ROW_BLOCK - 1) / ROW_BLOCK;
    while (rows % blocks)
        blocks++;
    return blocks;
}

/* With a left side stored by columns, threads share the rows, one more for the first where they
 * are odd, and each cuts its own into equal blocks. How numbers that cannot be cut so are shared is
 * not known. */
static uint64_t transposed_rows(uint64_t rows)
{
    enum { SMALLEST_BLOCK = 16 };
    uint64_t own = (rows + THREADS - 1) / THREADS, block = own / row_blocks(own);
    return block < SMALLEST_BLOCK ? rows : THREADS * block;
}

static uint64_t scratch_bytes(const ms_gemm *g)
{
    uint64_t inner = rounded_up(g->inner, INNER_STEP);
    uint64_t columns = g->columns < COLUMN_BLOCK ? g->columns : COLUMN_BLOCK;
    uint64_t packed = (uint64_t)THREADS * inner * COLUMN_BLOCK * 2;
    if (g->transposed)
        return transposed_rows(g->rows) * (4 * columns + 2 * inner) + packed + TRANSPOSED_BYTES;
    uint64_t blocks = row_blocks(g->rows);
    uint64_t tasks = g->batches * blocks * ((g->columns + COLUMN_BLOCK - 1) / COLUMN_BLOCK);
    uint64_t threads = tasks % THREADS == 0 ? THREADS : 1;
    return threads * (g->rows / blocks) * columns * 4 + packed + PLAIN_BYTES;
}

void ms_cpu_gemm_scratch(ms_tape *tape, ms_dtype dtype, ms_gemm gemm)
{
    if (!tape->on_cpu || dtype != MS_DTYPE_BF16 || ms_idle(tape) || gemm.rows == 0)
        return;
    if (gemm.rows < SMALLEST_WORK && gemm.inner < SMALLEST_WORK && gemm.columns < SMALLEST_WORK &&
        gemm.rows * gemm.inner * gemm.columns <= SMALLEST_WORK)
        return;
    ms_transient(tape, scratch_bytes(&gemm), MS_DTYPE_U8);
}
