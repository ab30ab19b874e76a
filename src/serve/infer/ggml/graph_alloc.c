/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/infer/ggml/graph_alloc.h"

#include <string.h>

/* ---- pool ---- */

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

/* ---- graph alloc ---- */

/* Alignment of a buffer on the host, and on a device. */
enum { MS_GRAPH_HOST_ALIGN = 32, MS_GRAPH_DEVICE_ALIGN = 128 };

enum { MOST_HOLES = 256, CUDA_ROW = 512 };

/* The arena of one device, or of the host. */
typedef struct arena {
    struct {
        uint64_t begin, bytes;
    } holes[MOST_HOLES];
    uint32_t count;
    uint64_t align, highest;
} arena;

/* ---- an arena ---- */

static uint64_t round_up(uint64_t bytes, uint64_t align)
{
    return align > 1 ? (bytes + align - 1) / align * align : bytes;
}

static void remove_hole(arena *a, uint32_t i)
{
    memmove(&a->holes[i], &a->holes[i + 1], (a->count - i - 1) * sizeof a->holes[0]);
    a->count--;
}

/* The last hole is the end of the arena, which grows: it is taken when no other is large enough. */
static uint64_t take(arena *a, uint64_t bytes)
{
    uint32_t best = a->count - 1;
    uint64_t best_bytes = UINT64_MAX;
    bytes = round_up(bytes, a->align);
    for (uint32_t i = 0; i + 1 < a->count; i++)
        if (a->holes[i].bytes >= bytes && a->holes[i].bytes <= best_bytes) {
            best = i;
            best_bytes = a->holes[i].bytes;
        }
    uint64_t at = a->holes[best].begin;
    a->holes[best].begin += bytes;
    a->holes[best].bytes -= bytes;
    if (a->holes[best].bytes == 0)
        remove_hole(a, best);
    a->highest = at + bytes > a->highest ? at + bytes : a->highest;
    return at;
}

/* False: more holes than ggml counts. */
static bool give_back(arena *a, uint64_t at, uint64_t bytes)
{
    bytes = round_up(bytes, a->align);
    for (uint32_t i = 0; i < a->count; i++) {
        if (a->holes[i].begin + a->holes[i].bytes == at) {
            a->holes[i].bytes += bytes;
            if (i + 1 < a->count &&
                a->holes[i].begin + a->holes[i].bytes == a->holes[i + 1].begin) {
                a->holes[i].bytes += a->holes[i + 1].bytes;
                remove_hole(a, i + 1);
            }
            return true;
        }
        if (at + bytes == a->holes[i].begin) {
            a->holes[i].begin = at;
            a->holes[i].bytes += bytes;
            if (i > 0 && a->holes[i - 1].begin + a->holes[i - 1].bytes == at) {
                a->holes[i - 1].bytes += a->holes[i].bytes;
                remove_hole(a, i);
            }
            return true;
        }
    }
    uint32_t to = 0;
    if (a->count == MOST_HOLES)
        return false;
    while (to < a->count && a->holes[to].begin < at)
        to++;
    memmove(&a->holes[to + 1], &a->holes[to], (a->count - to) * sizeof a->holes[0]);
    a->holes[to].begin = at;
    a->holes[to].bytes = bytes;
    a->count++;
    return true;
}

/* ---- a graph ---- */

typedef struct state {
    uint32_t readers, views, device;
    bool is_there;
    uint64_t at;
} state;

typedef struct running {
    const ms_graph *g;
    const ms_schedule *s;
    arena *arenas; /* by device; the host is the last */
    state *of;     /* by tensor */
    bool is_full;
} running;

static const ms_graph_tensor *tensor(const running *r, uint32_t t)
{
    return &r->g->tensors.items[t];
}

/* CUDA pads rows of quantised types, after the last one. */
static uint64_t bytes_of(const running *r, uint32_t t, uint32_t device)
{
    const ms_graph_tensor *of = tensor(r, t);
    uint64_t bytes = ms_graph_span(of);
    if (device == r->s->settings.devices)
        return bytes;
    if (ms_stored_type_of(of->type)->is_quantized && of->ne[0] % CUDA_ROW != 0)
        bytes += ms_stored_row_bytes(of->type, CUDA_ROW - of->ne[0] % CUDA_ROW).bytes;
    return bytes + of->extra_bytes;
}

static bool has_same_layout(const ms_graph_tensor *a, const ms_graph_tensor *b)
{
    return a->type == b->type && memcmp(a->ne, b->ne, sizeof a->ne) == 0 &&
           memcmp(a->nb, b->nb, sizeof a->nb) == 0;
}

static void give_rest_back(running *r, uint32_t from, uint32_t device, uint64_t at, uint64_t kept)
{
    arena *a = &r->arenas[device];
    uint64_t before = round_up(bytes_of(r, from, device), a->align);
    uint64_t after = round_up(kept, a->align);
    if (before > after && !give_back(a, at + after, before - after))
        r->is_full = true;
}

static bool take_over(running *r, uint32_t t)
{
    const ms_graph_tensor *of = tensor(r, t);
    for (uint32_t i = 0; i < of->sources && of->may_be_in_place; i++) {
        const ms_graph_tensor *from = tensor(r, of->source[i]);
        state *s = &r->of[of->source[i]];
        if (!s->is_there || from->is_output || !has_same_layout(of, from) || s->readers != 1 ||
            s->views != 0)
            continue;
        r->of[t].at = s->at;
        r->of[t].device = s->device;
        s->is_there = false;
        give_rest_back(r, of->source[i], s->device, s->at, bytes_of(r, t, s->device));
        return true;
    }
    return false;
}

static void place(running *r, uint32_t t, uint32_t device)
{
    const ms_graph_tensor *of = tensor(r, t);
    state *s = &r->of[t];
    bool is_elsewhere = of->op == MS_GRAPH_WEIGHT || of->op == MS_GRAPH_MEMORY;
    if (s->is_there || of->root != MS_GRAPH_NONE || is_elsewhere)
        return;
    s->is_there = true;
    if (take_over(r, t))
        return;
    s->device = device;
    s->at = take(&r->arenas[device], bytes_of(r, t, device));
}

static void release(running *r, uint32_t t)
{
    state *s = &r->of[t];
    if (tensor(r, t)->is_output)
        return;
    if (!give_back(&r->arenas[s->device], s->at, bytes_of(r, t, s->device)))
        r->is_full = true;
    s->is_there = false;
}

static void read_source(running *r, uint32_t source)
{
    const ms_graph_tensor *t = tensor(r, source);
    state *s = &r->of[source];
    s->readers--;
    if (s->readers != 0 || s->views != 0)
        return;
    if (t->root != MS_GRAPH_NONE) {
        state *root = &r->of[t->root];
        root->views--;
        if (root->views == 0 && root->readers == 0 && root->is_there)
            release(r, t->root);
    } else if (s->is_there) {
        release(r, source);
    }
}

/* The tensors that a step reads. */
static const uint32_t *sources(const running *r, const ms_sched_step *s, uint32_t *count)
{
    bool is_operator = s->tensor != MS_GRAPH_NONE;
    *count = is_operator ? tensor(r, s->tensor)->sources : s->kept;
    return is_operator ? tensor(r, s->tensor)->source : &r->s->kept.items[s->first_kept];
}

static void count_readers(running *r)
{
    for (uint32_t i = 0; i < r->s->steps.count; i++) {
        const ms_sched_step *s = &r->s->steps.items[i];
        uint32_t count;
        const uint32_t *from = sources(r, s, &count);
        if (s->tensor != MS_GRAPH_NONE && tensor(r, s->tensor)->root != MS_GRAPH_NONE)
            r->of[tensor(r, s->tensor)->root].views++;
        for (uint32_t k = 0; k < count; k++)
            r->of[from[k]].readers++;
    }
}

static void run(running *r)
{
    for (uint32_t i = 0; i < r->s->leaves.count; i++)
        place(r, r->s->leaves.items[i].tensor, r->s->leaves.items[i].device);
    count_readers(r);
    for (uint32_t i = 0; i < r->s->steps.count; i++) {
        const ms_sched_step *s = &r->s->steps.items[i];
        uint32_t count;
        const uint32_t *from = sources(r, s, &count);
        if (s->tensor != MS_GRAPH_NONE)
            place(r, s->tensor, s->device);
        for (uint32_t k = 0; k < count; k++)
            read_source(r, from[k]);
    }
}

ms_status ms_graph_alloc(const ms_graph *g, const ms_schedule *schedule, uint64_t *bytes,
                         ms_error *err)
{
    uint32_t places = schedule->settings.devices + 1;
    running r = {.g = g, .s = schedule};
    r.of = g->has_failed ? NULL : calloc((size_t)g->tensors.count + 1, sizeof *r.of);
    r.arenas = calloc(places, sizeof *r.arenas);
    bool ok = r.of && r.arenas;
    for (uint32_t i = 0; i < places && ok; i++) {
        r.arenas[i].count = 1;
        r.arenas[i].align = i + 1 == places ? MS_GRAPH_HOST_ALIGN : MS_GRAPH_DEVICE_ALIGN;
        r.arenas[i].holes[0].bytes = UINT64_MAX / 2;
    }
    if (ok)
        run(&r);
    for (uint32_t i = 0; i < places && ok; i++)
        bytes[i] = r.arenas[i].highest;
    free(r.of);
    free(r.arenas);
    if (!ok)
        return ms_fail(err, MS_ERR_NOMEM, "no memory for a graph of operators");
    return r.is_full ? ms_fail(err, MS_ERR_LIMIT, "the graph has more holes than ggml counts")
                     : MS_OK;
}
