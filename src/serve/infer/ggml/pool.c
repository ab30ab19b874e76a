/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/infer/ggml/pool.h"

enum {
    STEP = 1 << 21, /* in which the pool grows */
    ALIGN = 128,
    ROW = 512,         /* rows of quantised matrices are padded to it */
    BLOCK_BYTES = 144, /* 128 values in 8 bits, with their scales */
    BLOCK_VALUES = 128,
    TILE_ROWS = 128,
    WIDEST_TILE = 128,
    MOST_VECTORS = 8,     /* rows for which quantised matrices are read as vectors */
    MOST_FLOAT_ROWS = 16, /* for which matrices of floats have a kernel of ggml's own */
    MASK_STEP = 1024
};

static const uint64_t workspace_bytes = 4 << 20, hopper_workspace_bytes = 32 << 20;

typedef struct need {
    uint64_t low, bytes, high;
    bool calls_blas, is_rotation;
} need;

static uint64_t padded(uint64_t value, uint64_t step)
{
    return (value + step - 1) / step * step;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t most(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static need exactly(uint64_t bytes)
{
    return (need){bytes, bytes, bytes, false, false};
}

static bool is_quantized(const ms_graph_tensor *t)
{
    return ms_stored_type_of(t->type)->is_quantized;
}

/* ---- products with quantised matrices ---- */

/* Widths of tiles for which there is a kernel; fewer where rows are no multiple of a tile. */
static bool has_width(uint64_t width, bool has_rest)
{
    return width == 8 || width == 16 || width == 32 || width == 64 || width == WIDEST_TILE ||
           (!has_rest && (width == 24 || width == 40 || width == 48 || width == 80 || width == 96 ||
                          width == 112));
}

static uint64_t widest_tile(uint64_t rows, bool has_rest)
{
    uint64_t width = least(rows, WIDEST_TILE) / 8 * 8;
    while (width > 0 && !has_width(width, has_rest))
        width -= 8;
    return width;
}

static uint64_t best_tile(uint64_t rows, bool has_rest)
{
    uint64_t best = 8, tiles = UINT64_MAX;
    for (uint64_t width = 8; width <= WIDEST_TILE && tiles > 1; width += 8)
        if (has_width(width, has_rest) && (rows + width - 1) / width < tiles) {
            tiles = (rows + width - 1) / width;
            best = width;
        }
    return best;
}

/* Sums of tiles that several blocks share, where tiles do not fill the device evenly. */
static uint64_t shared_tiles(uint64_t matrix_rows, uint64_t rows, uint64_t matrices,
                             const ms_pool_hardware *h)
{
    uint64_t width = best_tile(rows, matrix_rows % TILE_ROWS != 0);
    uint64_t tiles =
        padded(matrix_rows, TILE_ROWS) / TILE_ROWS * (padded(rows, width) / width) * matrices;
    uint64_t blocks = most(h->multiprocessors, 1), waves = (tiles + blocks - 1) / blocks;
    bool is_even = 100 * tiles / (blocks * waves) >= 90 || tiles % blocks == 0;
    return is_even ? 0 : blocks * width * TILE_ROWS * 4;
}

static uint64_t quantised_rows(uint64_t rows, uint64_t width)
{
    return rows * padded(width, ROW) / BLOCK_VALUES * BLOCK_BYTES;
}

static need of_quantised(const ms_graph_tensor *w, const ms_graph_tensor *x,
                         const ms_pool_hardware *h)
{
    uint64_t rows = x->ne[1], all = rows * x->ne[2] * x->ne[3];
    uint64_t bytes = quantised_rows(all, x->ne[0]);
    if (rows <= MOST_VECTORS)
        return exactly(padded(bytes, ALIGN));
    bytes += widest_tile(rows, w->ne[1] % TILE_ROWS != 0) * BLOCK_BYTES;
    return exactly(padded(bytes, ALIGN) +
                   padded(shared_tiles(w->ne[1], rows, x->ne[2] * x->ne[3], h), ALIGN));
}

/* ---- products with matrices of floats ---- */

static bool has_own_kernel(const ms_graph_tensor *w, uint64_t rows)
{
    uint64_t size = ms_stored_type_of(w->type)->block_bytes;
    bool is_vector = w->type == MS_STORED_F32 ? rows <= 3 : rows == 1;
    return is_vector || (rows <= MOST_FLOAT_ROWS && w->ne[0] % (128 / size) == 0 &&
                         w->ne[1] % 32 == 0 && w->nb[0] == size);
}

/* cuBLAS: what is of another type than the product is copied; results of 16-bit floats too. */
static need of_floats(const ms_graph_tensor *w, const ms_graph_tensor *x, const ms_graph_tensor *t)
{
    ms_stored_id type = t->is_precise ? MS_STORED_F32 : w->type;
    uint64_t size = ms_stored_type_of(type)->block_bytes, bytes = 0;
    uint64_t batches = x->ne[2] * x->ne[3];
    if (has_own_kernel(w, x->ne[1]))
        return exactly(0);
    if (w->type != type)
        bytes += padded(ms_graph_elements(w) * size, ALIGN);
    if (x->type != type)
        bytes += padded(ms_graph_elements(x) * size, ALIGN);
    if (type == MS_STORED_F16)
        bytes += padded(ms_graph_elements(t) * size, ALIGN);
    if (batches > w->ne[2] * w->ne[3]) /* pointers to the matrices */
        bytes += padded(16 * batches, ALIGN) + padded(8 * batches, ALIGN);
    need n = exactly(bytes);
    n.calls_blas = true;
    n.is_rotation = w->op == MS_GRAPH_COPY && w->ne[0] == w->ne[1];
    return n;
}

/* ---- products with experts' matrices ---- */

static uint64_t most_vectors(ms_stored_id type)
{
    if (type == MS_STORED_Q3_K)
        return 5;
    return type == MS_STORED_Q2_K || type == MS_STORED_MXFP4 ? 7 : MOST_VECTORS;
}

static need of_chosen(const ms_graph_tensor *w, const ms_graph_tensor *x, const ms_graph_tensor *t,
                      const ms_pool_hardware *h)
{
    uint64_t tokens = t->ne[2], used = t->ne[1], rows = tokens * used;
    uint64_t lists = 2 * padded(4 * rows, ALIGN) + padded(4 * (w->ne[2] + 1), ALIGN);
    if (is_quantized(w)) {
        uint64_t bytes = quantised_rows(rows, x->ne[0]);
        if (tokens <= most_vectors(w->type))
            return exactly(padded(quantised_rows(tokens * x->ne[1], x->ne[0]), ALIGN));
        bytes += widest_tile(x->ne[1], w->ne[1] % TILE_ROWS != 0) * BLOCK_BYTES;
        return exactly(lists + padded(bytes, ALIGN) +
                       padded(shared_tiles(w->ne[1], tokens, w->ne[2], h), ALIGN));
    }
    if (tokens <= (w->ne[1] <= 1024 ? 512u : 128u))
        return exactly(lists);
    /* Sorted by expert, one product for each: as many rows as tokens chose it. */
    uint64_t size = ms_stored_type_of(w->type)->block_bytes;
    uint64_t sorted = padded(8 * rows, ALIGN) + padded(rows * x->ne[0] * size, ALIGN) +
                      padded(rows * t->ne[0] * 4, ALIGN);
    uint64_t one = w->type == MS_STORED_F16 ? 2 * t->ne[0] : 0;
    need n = {sorted, sorted + one * rows / most(w->ne[2], 1), sorted + one * tokens, true, false};
    return n;
}

/* ---- flash attention ---- */

/* Keys that a block reads at a time. */
static uint64_t keys_at_once(uint64_t width, uint64_t columns)
{
    if (width <= 128)
        return columns == 8 ? 128 : 64;
    return width == 256 && columns <= 16 ? 64 : 32;
}

/* Sums of tiles that several blocks share; `resident`: blocks on a multiprocessor. */
static uint64_t of_attention(const ms_graph *g, const ms_graph_tensor *t, uint64_t resident,
                             const ms_pool_hardware *h)
{
    const ms_graph_tensor *q = &g->tensors.items[t->source[0]];
    const ms_graph_tensor *k = &g->tensors.items[t->source[1]];
    uint64_t heads = q->ne[2] / most(k->ne[2], 1), rows = q->ne[1], width = k->ne[0];
    uint64_t shared = heads > 4 && width <= 256 ? 8 : heads > 2 ? 4 : heads > 1 ? 2 : 1;
    uint64_t columns = 64;
    for (uint64_t fewer = 8; fewer < 64; fewer *= 2)
        if (columns == 64 && rows <= fewer / shared)
            columns = fewer;
    uint64_t queries = columns / shared, across = (rows + queries - 1) / queries;
    uint64_t tiles = across * ((heads + shared - 1) / shared) * k->ne[2] * q->ne[3];
    uint64_t blocks = resident * most(h->multiprocessors, 1), waves = (tiles + blocks - 1) / blocks;
    uint64_t at_once = keys_at_once(width, columns);
    uint64_t parts = (k->ne[1] + at_once - 1) / at_once;
    uint64_t bytes = rows >= MASK_STEP || q->ne[3] > 1 ? padded(4 * across * q->ne[3], ALIGN) : 0;
    uint64_t count = tiles;
    if (h->compute_capability >= 89 || 100 * tiles / (blocks * waves) < 75) {
        uint64_t raw = least(blocks, parts * tiles), even = raw / tiles * tiles;
        count = even > 0 && 100 * (raw - even) / raw <= 5 ? even : raw;
    }
    if (tiles % count != 0)
        bytes += padded(count * columns * (2 + t->ne[0] / 2) * 8, ALIGN);
    return bytes;
}

/* ---- all operators ---- */

static need of_operator(const ms_graph *g, const ms_graph_tensor *t, const ms_pool_hardware *h)
{
    enum { EXPECTED_RESIDENT = 2, MOST_RESIDENT = 4 };
    if (t->op == MS_GRAPH_FLASH)
        return (need){of_attention(g, t, 1, h), of_attention(g, t, EXPECTED_RESIDENT, h),
                      of_attention(g, t, MOST_RESIDENT, h), false, false};
    if (t->op != MS_GRAPH_PRODUCT && t->op != MS_GRAPH_PRODUCT_OF_CHOSEN)
        return exactly(0);
    const ms_graph_tensor *w = &g->tensors.items[t->source[0]];
    const ms_graph_tensor *x = &g->tensors.items[t->source[1]];
    if (t->op == MS_GRAPH_PRODUCT_OF_CHOSEN)
        return of_chosen(w, x, t, h);
    return is_quantized(w) && w->root == MS_GRAPH_NONE ? of_quantised(w, x, h) : of_floats(w, x, t);
}

ms_pool_need ms_pool_of(const ms_graph *g, const ms_schedule *schedule, uint32_t device,
                        const ms_pool_hardware *h)
{
    ms_pool_need n = {.may_lack_workspace = true};
    for (uint32_t i = 0; i < schedule->steps.count; i++) {
        const ms_sched_step *s = &schedule->steps.items[i];
        if (s->tensor == MS_GRAPH_NONE || s->device != device)
            continue;
        need one = of_operator(g, &g->tensors.items[s->tensor], h);
        n.low = most(n.low, least(one.low, one.bytes));
        n.bytes = most(n.bytes, one.bytes);
        n.high = most(n.high, most(one.high, one.bytes));
        n.may_lack_workspace = n.may_lack_workspace && (!one.calls_blas || one.is_rotation);
        if (one.calls_blas)
            n.workspace = h->compute_capability >= 90 ? hopper_workspace_bytes : workspace_bytes;
    }
    n.low = padded(n.low, STEP);
    n.bytes = padded(n.bytes, STEP);
    n.high = padded(n.high, STEP);
    return n;
}
