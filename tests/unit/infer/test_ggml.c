/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * ggml's rules on small graphs: which device runs an operator, what is copied, how large the arenas
 * become, and what kernels take beside them.
 */
#include "unit/support.h"

#include "serve/infer/ggml/graph_alloc.h"

enum { WIDTH = 64, MOST_DEVICES = 2 };

/* ---- devices, copies and arenas ---- */

/* An input times a matrix, an activation, times another matrix. */
typedef struct plan_case {
    const char *label;
    uint64_t rows;
    uint32_t devices;
    int32_t first, second; /* places of the matrices */
    bool offloads, pipelines;
    uint32_t splits;
    uint64_t bytes[MOST_DEVICES + 1]; /* of the devices, then of the host */
} plan_case;

static const plan_case plans[] = {
    {"the host alone", 64, 0, -1, -1, true, false, 1, {2 * 16384}},
    {"all on a device", 64, 1, 0, 0, true, false, 1, {2 * 16384, 16384}},
    {"few rows stay on the host", 8, 1, -1, 0, true, false, 2, {2 * 2048, 2 * 2048}},
    {"many rows are offloaded", 64, 1, -1, 0, true, false, 1, {8192 + 2 * 16384, 16384}},
    {"many rows without offloading", 64, 1, -1, 0, false, false, 2, {2 * 16384, 2 * 16384}},
    {"two devices", 64, 2, 0, 1, true, false, 2, {2 * 16384, 2 * 16384, 16384}},
    {"two devices, pipelined", 64, 2, 0, 1, true, true, 2, {5 * 16384, 5 * 16384, 4 * 16384}},
};

static uint32_t matrix(ms_graph *g, int32_t place, ms_stored_id type, uint64_t ne0, uint64_t ne1)
{
    uint32_t t = ms_graph_leaf(g, MS_GRAPH_WEIGHT, type, (uint64_t[]){ne0, ne1, 1, 1});
    assert_int_not_equal(t, MS_GRAPH_NONE);
    g->tensors.items[t].place = place;
    return t;
}

static void check_plan(void **state)
{
    const plan_case *c = *state;
    ms_graph g = {.has_failed = false};
    ms_schedule s;
    ms_error err = {0};
    uint64_t bytes[MOST_DEVICES + 1] = {0};
    const ms_sched_settings settings = {c->devices, c->offloads, c->pipelines};
    uint32_t x = ms_graph_input(&g, MS_STORED_F32, WIDTH, c->rows, 1, 1);
    uint32_t t = ms_graph_product(&g, matrix(&g, c->first, MS_STORED_F16, WIDTH, WIDTH), x);
    t = ms_graph_in_place(&g, MS_GRAPH_OTHER, t, MS_GRAPH_NONE);
    t = ms_graph_product(&g, matrix(&g, c->second, MS_STORED_F16, WIDTH, WIDTH), t);
    g.tensors.items[t].is_output = true;
    ms_graph_expand(&g, t);
    assert_int_equal(ms_sched_make(&g, &settings, &s, &err), MS_OK);
    assert_int_equal(s.splits, c->splits);
    assert_int_equal(ms_graph_alloc(&g, &s, bytes, &err), MS_OK);
    for (uint32_t i = 0; i <= c->devices; i++)
        assert_int_equal(bytes[i], c->bytes[i]);
    ms_sched_free(&s);
    ms_graph_free(&g);
}

/* ---- the pool ---- */

typedef struct pool_case {
    const char *label;
    ms_stored_id type;
    uint64_t rows, in, out; /* of a matrix */
    ms_pool_hardware hardware;
    uint64_t bytes, workspace;
} pool_case;

static const pool_case pools[] = {
    {"8B, quantised", MS_STORED_Q4_K, 512, 14336, 4096, {80, 108}, 16777216, 0},
    {"8B, quantised, tiles fill the device",
     MS_STORED_Q4_K,
     2048,
     14336,
     4096,
     {80, 108},
     33554432,
     0},
    {"8B, quantised, more multiprocessors",
     MS_STORED_Q4_K,
     512,
     14336,
     4096,
     {90, 132},
     8388608,
     0},
    {"8B, one row", MS_STORED_Q4_K, 1, 14336, 4096, {80, 108}, 2097152, 0},
    {"8B, halves", MS_STORED_F16, 512, 14336, 4096, {80, 108}, 18874368, 4 << 20},
    {"8B, halves, Hopper", MS_STORED_F16, 512, 14336, 4096, {90, 132}, 18874368, 32 << 20},
    {"8B, bfloat16", MS_STORED_BF16, 512, 14336, 4096, {80, 108}, 14680064, 4 << 20},
    {"halves, one row", MS_STORED_F16, 1, 14336, 4096, {80, 108}, 0, 0},
};

static void check_pool(void **state)
{
    const pool_case *c = *state;
    ms_graph g = {.has_failed = false};
    ms_schedule s;
    ms_error err = {0};
    const ms_sched_settings settings = {1, true, false};
    uint32_t x = ms_graph_input(&g, MS_STORED_F32, c->in, c->rows, 1, 1);
    ms_graph_expand(&g, ms_graph_product(&g, matrix(&g, 0, c->type, c->in, c->out), x));
    assert_int_equal(ms_sched_make(&g, &settings, &s, &err), MS_OK);
    const ms_pool_need n = ms_pool_of(&g, &s, 0, &c->hardware);
    assert_int_equal(n.bytes, c->bytes);
    assert_int_equal(n.low, c->bytes);
    assert_int_equal(n.high, c->bytes);
    assert_int_equal(n.workspace, c->workspace);
    ms_sched_free(&s);
    ms_graph_free(&g);
}

int main(void)
{
    int failed = run_rows("devices, copies and arenas", check_plan, plans);
    return failed + run_rows("the pool", check_pool, pools);
}
