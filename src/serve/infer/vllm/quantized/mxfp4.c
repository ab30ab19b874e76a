/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/infer/vllm/quantized/mxfp4.h"

#include "input/config/model/model_config.h"

enum { INT16 = 2, INT32 = 4, FLOAT = 4, PAIR = 2 /* weights of 4 bits in a byte */, GROUP = 32 };

/* One of an expert's two products: from `in` to `out`. */
typedef struct product {
    uint64_t in, out;
} product;

static void products_of(const ms_vllm_setup *s, product out[2])
{
    out[0] = (product){.in = s->config->hidden_size, .out = 2 * s->expert};
    out[1] = (product){.in = s->expert, .out = s->config->hidden_size};
}

static ms_block take(ms_vllm_tape *tape, uint64_t a, uint64_t b, uint64_t bytes)
{
    return ms_vllm_take(tape, ms_vllm_size(a, b, bytes));
}

static uint64_t padded(uint64_t value, uint64_t step)
{
    return ms_vllm_ceil_div(value, step) * step;
}

/* ---- weights ---- */

ms_vllm_mxfp4 ms_vllm_mxfp4_build(const ms_vllm_setup *s, ms_vllm_tape *tape)
{
    product p[2];
    ms_vllm_mxfp4 made = {{0}};
    products_of(s, p);
    for (int i = 0; i < 2; i++) {
        uint64_t rows = s->config->num_experts * p[i].out;
        made.loaded[2 * i] = take(tape, rows, ms_vllm_ceil_div(p[i].in, PAIR), 1);
        made.loaded[2 * i + 1] = take(tape, rows, ms_vllm_ceil_div(p[i].in, GROUP), 1);
    }
    for (int i = 0; i < 2; i++)
        made.loaded[4 + i] = take(tape, s->config->num_experts, p[i].out, MS_VLLM_ELEMENT);
    return made;
}

/* Biases in fp32; weights in the order of Hopper's registers, scales padded for it. */
void ms_vllm_mxfp4_finish(const ms_vllm_setup *s, ms_vllm_tape *tape, const ms_vllm_mxfp4 *experts)
{
    enum { SCALE_ROWS = 256, SCALE_COLUMNS = 2 };
    product p[2];
    products_of(s, p);
    for (int i = 0; i < 2; i++)
        (void)take(tape, s->config->num_experts, p[i].out, FLOAT);
    for (int i = 0; i < 2; i++) {
        uint64_t groups = padded(ms_vllm_ceil_div(p[i].in, GROUP), SCALE_COLUMNS);
        (void)take(tape, s->config->num_experts * p[i].out, ms_vllm_ceil_div(p[i].in, PAIR), 1);
        (void)take(tape, s->config->num_experts * padded(p[i].out, SCALE_ROWS), groups, 1);
    }
    for (int i = 0; i < MS_VLLM_MXFP4_TENSORS; i++)
        ms_vllm_give(tape, experts->loaded[i]);
}

/* ---- a step ---- */

/* Blocks of 16 to 128 rows, by the power of two: the offsets of experts in each, and the expert of
 * each block. */
enum { BLOCK_SIZES = 4, LEAST_BLOCK = 16, FILL = 512 };

static uint64_t most_blocks(uint64_t experts, uint64_t rows)
{
    return rows <= experts ? rows : experts - 1 + ms_vllm_ceil_div(rows + 1 - experts, LEAST_BLOCK);
}

ms_block ms_vllm_mxfp4_run(const ms_vllm_setup *s, ms_vllm_tape *tape)
{
    enum { WORD = 32, SCRATCH = 128, PART_ROWS = 128, PARTS = 4 };
    const ms_model_config *c = s->config;
    uint64_t n = c->num_experts, each = s->tokens * c->experts_per_token;
    uint64_t words = ms_vllm_ceil_div(n, WORD), parts = ms_vllm_ceil_div(s->tokens, PART_ROWS);
    ms_block used[] = {take(tape, each, MS_VLLM_ELEMENT, 1), take(tape, each, INT16, 1),
                       take(tape, words, padded(s->tokens, WORD), INT32)};
    ms_block scratch = take(tape, padded(n, SCRATCH), INT32, 1);
    ms_block partial = take(tape, words * WORD, parts * PARTS, INT32);
    ms_block offsets = take(tape, n, INT32, 1);
    ms_block kept[] = {scratch, take(tape, 2 * each, INT32, 1),
                       take(tape, each, MS_VLLM_ELEMENT, 1),
                       take(tape, BLOCK_SIZES + 1, padded(n + 1, FILL), INT32),
                       take(tape, BLOCK_SIZES, padded(most_blocks(n, each), FILL), INT32)};
    ms_vllm_give(tape, offsets);
    ms_vllm_give(tape, partial);
    for (size_t i = 0; i < sizeof used / sizeof used[0]; i++)
        ms_vllm_give(tape, used[i]);
    ms_block out = take(tape, s->tokens, c->hidden_size, MS_VLLM_ELEMENT);
    ms_block middle = take(tape, each, s->expert, MS_VLLM_ELEMENT);
    ms_vllm_give(tape, take(tape, each, c->hidden_size, MS_VLLM_ELEMENT));
    ms_vllm_give(tape, middle);
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++)
        ms_vllm_give(tape, kept[i]);
    return out;
}
