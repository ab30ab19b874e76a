/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "torch/ops/attention/attention_cpu.h"

#include "torch/ops/attention/attention.h"
#include "torch/ops/ops.h"

enum { CPU_THREADS = 2, CPU_KEY_BLOCK = 512 };

static uint64_t at_most(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t block_rows(uint64_t seq)
{
    return at_most(seq >= 768 ? 256 : seq >= 192 ? 64 : 32, seq);
}

void ms_attention_cpu_forward_buffers(ms_tape *tape, uint64_t queries, uint64_t all_keys,
                                      uint64_t head_dim, ms_dtype dtype)
{
    uint64_t rows = block_rows(queries), keys = at_most(CPU_KEY_BLOCK, all_keys);
    uint64_t floats = rows * keys + 2 * rows + rows * head_dim;
    ms_tensor buffer = ms_empty_bytes(tape, 4 * CPU_THREADS * floats, MS_DTYPE_F32);
    if (dtype != MS_DTYPE_F32)
        ms_transient(tape, 2 * CPU_THREADS * rows * keys, dtype);
    ms_consume(tape, buffer);
}

void ms_attention_cpu_backward_buffers(ms_tape *tape, uint64_t queries, uint64_t all_keys,
                                       ms_dtype dtype)
{
    uint64_t rows = block_rows(queries), keys = at_most(CPU_KEY_BLOCK, all_keys);
    ms_tensor scores = ms_empty_bytes(tape, 2 * 4 * CPU_THREADS * rows * keys, MS_DTYPE_F32);
    ms_tensor reduced = 0;
    if (dtype != MS_DTYPE_F32)
        reduced = ms_empty_bytes(tape, 2 * 2 * CPU_THREADS * rows * keys, dtype);
    ms_transient(tape, ms_dtype_bytes(dtype) * CPU_THREADS * rows, dtype);
    ms_consume(tape, reduced);
    ms_consume(tape, scores);
}
