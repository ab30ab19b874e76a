/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/infer/vllm/quantized/marlin_linear.h"

#include "input/config/quantize/quantize.h"

enum { INT32 = 4, INT64 = 8, FLOAT = 4, PACKED = 8 /* weights of 4 bits in an int32 */ };
/* Orders of scales: of groups, or of whole columns; of zeros. */
enum { GROUP_ORDER = 64, COLUMN_ORDER = 32, ZERO_ORDER = 8 };

bool ms_vllm_marlin_linear_takes(uint64_t out, uint64_t in)
{
    enum { OUT_STEP = 64, IN_STEP = 128 };
    return out % OUT_STEP == 0 && in % IN_STEP == 0;
}

static ms_block take(ms_vllm_tape *tape, uint64_t a, uint64_t b, uint64_t bytes)
{
    return ms_vllm_take(tape, ms_vllm_size(a, b, bytes));
}

static void workspace(const ms_vllm_setup *s, ms_vllm_tape *tape)
{
    (void)take(tape, s->job->device->multiprocessors, INT32, 1);
}

/* A tensor whose columns are put in another order: the list of them is on the device meanwhile. */
static ms_block reordered(ms_vllm_tape *tape, ms_size bytes, uint64_t order)
{
    ms_block list = take(tape, order, INT64, 1), result = ms_vllm_take(tape, bytes);
    ms_vllm_give(tape, list);
    return result;
}

/* ---- 4 bits ---- */

static uint64_t groups_of(const ms_vllm_setup *s, uint64_t in)
{
    return s->scheme.group > 0 ? ms_vllm_ceil_div(in, s->scheme.group) : 1;
}

/* Zeros are unpacked, put in order twice, and packed anew. */
static void convert_zeros(ms_vllm_tape *tape, const ms_vllm_linear *l, uint64_t groups)
{
    ms_size unpacked = ms_vllm_size(groups, l->out, INT32);
    ms_block bits = ms_vllm_take(tape, unpacked);
    ms_block once = reordered(tape, unpacked, GROUP_ORDER);
    ms_vllm_give(tape, bits);
    ms_block twice = reordered(tape, unpacked, ZERO_ORDER);
    ms_vllm_give(tape, once);
    (void)take(tape, groups, ms_vllm_ceil_div(l->out, PACKED), INT32);
    ms_vllm_give(tape, twice);
    ms_vllm_give(tape, l->zeros);
}

void ms_vllm_marlin_linear_finish(const ms_vllm_setup *s, ms_vllm_tape *tape,
                                  const ms_vllm_linear *l)
{
    uint64_t groups = groups_of(s, l->in);
    ms_size weights = ms_vllm_size(l->in, ms_vllm_ceil_div(l->out, PACKED), INT32);
    ms_size scales = ms_vllm_size(groups, l->out, MS_VLLM_ELEMENT);
    bool is_compressed = s->scheme.kind == MS_VLLM_PACKED; /* stored by outputs: copied in order */
    workspace(s, tape);
    ms_vllm_give(tape, l->order);
    if (s->scheme.kind == MS_VLLM_AWQ)
        convert_zeros(tape, l, groups);
    ms_block copy = is_compressed ? ms_vllm_take(tape, weights) : 0;
    (void)ms_vllm_take(tape, weights);
    ms_vllm_give(tape, copy);
    ms_vllm_give(tape, l->weight);
    copy = is_compressed ? ms_vllm_take(tape, scales) : 0;
    (void)reordered(tape, scales, groups > 1 ? GROUP_ORDER : COLUMN_ORDER);
    ms_vllm_give(tape, copy);
    ms_vllm_give(tape, l->scales);
    if (s->scheme.kind == MS_VLLM_GPTQ)
        ms_vllm_give(tape, l->zeros);
}

/* ---- fp8 ---- */

/* Scales take up the difference of exponents, which a tensor of ones is multiplied to. */
static void fuse_exponents(ms_vllm_tape *tape, ms_size bytes)
{
    ms_block ones = ms_vllm_take(tape, bytes), twos = ms_vllm_take(tape, bytes);
    ms_vllm_give(tape, ones);
    ms_block factors = ms_vllm_take(tape, bytes);
    ms_vllm_give(tape, twos);
    (void)ms_vllm_take(tape, bytes);
    ms_vllm_give(tape, factors);
}

/* One for each output and so many inputs, of those of blocks or of the one of all. */
static ms_block spread(ms_vllm_tape *tape, const ms_vllm_linear *l, bool has_blocks, ms_size bytes)
{
    uint64_t rows = has_blocks ? ms_vllm_ceil_div(l->out, MS_FP8_BLOCK) : 1;
    uint64_t columns = has_blocks ? ms_vllm_ceil_div(l->in, MS_FP8_BLOCK) : 1;
    ms_block narrow = take(tape, rows, columns, MS_VLLM_ELEMENT);
    if (has_blocks) {
        ms_block turned = take(tape, rows, columns, MS_VLLM_ELEMENT);
        ms_vllm_give(tape, narrow);
        narrow = turned;
    }
    ms_block wide = ms_vllm_take(tape, bytes);
    ms_vllm_give(tape, narrow);
    return wide;
}

void ms_vllm_marlin_linear_finish_fp8(const ms_vllm_setup *s, ms_vllm_tape *tape,
                                      const ms_vllm_linear *l)
{
    bool has_blocks = s->scheme.kind == MS_VLLM_FP8_BLOCK;
    uint64_t groups = has_blocks ? ms_vllm_ceil_div(l->in, MS_FP8_BLOCK) : 1;
    ms_size scales = ms_vllm_size(groups, l->out, MS_VLLM_ELEMENT);
    workspace(s, tape);
    ms_block packed = take(tape, l->out, l->in, 1);
    (void)take(tape, l->out, l->in, 1);
    ms_block wide = spread(tape, l, has_blocks, scales);
    ms_block ordered = reordered(tape, scales, has_blocks ? GROUP_ORDER : COLUMN_ORDER);
    fuse_exponents(tape, scales);
    ms_vllm_give(tape, ordered);
    ms_vllm_give(tape, packed);
    ms_vllm_give(tape, wide);
    ms_vllm_give(tape, l->weight);
    ms_vllm_give(tape, l->scales);
}

/* ---- a step ---- */

ms_size ms_vllm_marlin_linear_sums(const ms_vllm_setup *s, uint64_t tokens)
{
    enum { TILE_COLUMNS = 256, TILE_ROWS = 16, MOST_ROWS = 64 };
    uint64_t rows = ms_vllm_ceil_div(tokens, TILE_ROWS) * TILE_ROWS;
    return ms_size_mul(ms_vllm_size(s->job->device->multiprocessors,
                                    rows < MOST_ROWS ? rows : MOST_ROWS, TILE_COLUMNS),
                       FLOAT);
}
