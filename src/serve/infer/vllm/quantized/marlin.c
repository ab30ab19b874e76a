/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/infer/vllm/quantized/marlin.h"

#include "input/config/model/model_config.h"

enum { INT32 = 4, INT16 = 2, FLOAT = 4, PACKED = 8 /* weights of 4 bits in an int32 */ };

/* One of an expert's two products: from `in` to `out`. */
typedef struct product {
    uint64_t in, out, groups;
} product;

static void products_of(const ms_vllm_setup *s, product out[2])
{
    uint64_t hidden = s->config->hidden_size, width = s->expert, group = s->scheme.group;
    out[0] = (product){.in = hidden, .out = 2 * width, .groups = group ? hidden / group : 1};
    out[1] = (product){.in = width, .out = hidden, .groups = group ? width / group : 1};
}

/* A tensor of all experts: rows x columns each. */
static ms_block take(const ms_vllm_setup *s, ms_vllm_tape *tape, uint64_t rows, uint64_t columns,
                     uint64_t bytes)
{
    return ms_vllm_take(tape,
                        ms_size_mul(ms_vllm_size(s->config->num_experts, rows, columns), bytes));
}

static ms_block weights(const ms_vllm_setup *s, ms_vllm_tape *tape, const product *p)
{
    return take(s, tape, p->in, p->out / PACKED, INT32);
}

static ms_block scales(const ms_vllm_setup *s, ms_vllm_tape *tape, const product *p)
{
    return take(s, tape, p->groups, p->out, MS_VLLM_ELEMENT);
}

/* ---- as files have them ---- */

ms_vllm_marlin ms_vllm_marlin_build(const ms_vllm_setup *s, ms_vllm_tape *tape)
{
    product p[2];
    products_of(s, p);
    bool is_awq = s->scheme.kind == MS_VLLM_AWQ;
    ms_vllm_marlin made = {.loaded = {weights(s, tape, &p[0]), weights(s, tape, &p[1]),
                                      scales(s, tape, &p[0]), scales(s, tape, &p[1])}};
    ms_block zeros[2];
    for (int i = 0; i < 2; i++)
        zeros[i] = take(s, tape, p[i].groups, p[i].out / PACKED, is_awq ? INT32 : INT16);
    for (int i = 0; i < 2 && is_awq; i++)
        made.loaded[4 + i] = zeros[i];
    for (int i = 0; i < 4 && !is_awq; i++) /* groups of inputs, and their order */
        made.loaded[4 + i] = take(s, tape, p[i % 2].in, INT32, 1);
    (void)ms_vllm_take(tape, ms_vllm_size(s->job->device->multiprocessors, 4, INT32));
    return made;
}

/* ---- as the kernel wants them ---- */

static void one_by_one(const ms_vllm_setup *s, ms_vllm_tape *tape, ms_size bytes)
{
    for (uint64_t i = 0; i < s->config->num_experts; i++)
        ms_vllm_give(tape, ms_vllm_take(tape, bytes));
}

static void repack(const ms_vllm_setup *s, ms_vllm_tape *tape, const product *p)
{
    (void)weights(s, tape, p);
    one_by_one(s, tape, ms_vllm_size(p->in, p->out / PACKED, INT32));
}

static void permute(const ms_vllm_setup *s, ms_vllm_tape *tape, const product *p)
{
    (void)scales(s, tape, p);
    one_by_one(s, tape, ms_vllm_size(p->groups, p->out, MS_VLLM_ELEMENT));
}

/* Zeros are unpacked, put in order twice, and packed anew. */
static void permute_zeros(const ms_vllm_setup *s, ms_vllm_tape *tape, const product *p)
{
    ms_size unpacked = ms_vllm_size(p->groups, p->out, INT32);
    (void)take(s, tape, p->groups, p->out / PACKED, INT32);
    for (uint64_t i = 0; i < s->config->num_experts; i++) {
        ms_block bits = ms_vllm_take(tape, unpacked);
        ms_vllm_give(tape, ms_vllm_take(tape, unpacked));
        ms_block ordered = ms_vllm_take(tape, unpacked);
        ms_vllm_give(tape, ms_vllm_take(tape, unpacked));
        ms_block packed = ms_vllm_take(tape, ms_vllm_size(p->groups, p->out / PACKED, INT32));
        ms_vllm_give(tape, ordered);
        ms_vllm_give(tape, bits);
        ms_vllm_give(tape, packed);
    }
}

void ms_vllm_marlin_finish(const ms_vllm_setup *s, ms_vllm_tape *tape,
                           const ms_vllm_marlin *experts)
{
    product p[2];
    products_of(s, p);
    for (int i = 0; i < 2; i++)
        repack(s, tape, &p[i]);
    for (int i = 0; i < 2; i++)
        permute(s, tape, &p[i]);
    for (int i = 0; i < 2 && s->scheme.kind == MS_VLLM_AWQ; i++)
        permute_zeros(s, tape, &p[i]);
    for (int i = 0; i < MS_VLLM_MARLIN_TENSORS; i++)
        ms_vllm_give(tape, experts->loaded[i]);
}

/* ---- a step ---- */

uint64_t ms_vllm_marlin_rows(const ms_vllm_setup *s)
{
    static const uint64_t sizes[] = {8, 16, 32, 48, 64};
    double each =
        (double)s->tokens * (double)s->config->experts_per_token / (double)s->config->num_experts;
    size_t i = 0;
    while (i + 1 < sizeof sizes / sizeof sizes[0] && each / (double)sizes[i] >= 0.9)
        i++;
    return sizes[i];
}

ms_size ms_vllm_marlin_sums(const ms_vllm_setup *s, uint64_t columns, uint64_t sorted)
{
    enum { TILES = 4, TILE_COLUMNS = 256 };
    ms_size all = ms_vllm_size(columns, sorted, FLOAT);
    ms_size most = ms_size_mul(
        ms_vllm_size(s->job->device->multiprocessors, TILES * TILE_COLUMNS, ms_vllm_marlin_rows(s)),
        FLOAT);
    return !all.overflow && all.bytes < most.bytes ? all : most;
}
