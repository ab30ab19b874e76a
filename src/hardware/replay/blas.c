/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "hardware/replay/blas.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* cblas_sgemm of the C interface of BLAS, and its constants. */
typedef void (*sgemm)(int order, int transpose_a, int transpose_b, int rows, int columns, int inner,
                      float alpha, const float *a, int stride_a, const float *b, int stride_b,
                      float beta, float *c, int stride_c);
enum { BY_ROWS = 101, AS_IT_IS = 111 };

/* Large enough for a BLAS to reach its rate, small enough for three of them in a cache. */
enum { TILE = 384, TILES = 3 };

struct ms_blas {
    void *library;
    const char *name;
    sgemm multiply; /* NULL: the plain loop */
    const ms_stop *stop;
};

static const struct library {
    const char *file, *name;
} libraries[] = {
    {"libopenblas.so.0", "OpenBLAS"},
    {"libopenblas.so", "OpenBLAS"},
    {"libblis.so.4", "BLIS"},
    {"libblis.so", "BLIS"},
};

static void load(ms_blas *blas)
{
    for (size_t i = 0; i < sizeof libraries / sizeof libraries[0]; i++) {
        void *library = dlopen(libraries[i].file, RTLD_NOW | RTLD_LOCAL);
        void *found = library ? dlsym(library, "cblas_sgemm") : NULL;
        if (found) {
            blas->library = library;
            blas->name = libraries[i].name;
            memcpy(&blas->multiply, &found, sizeof found);
            return;
        }
        if (library)
            dlclose(library);
    }
}

ms_blas *ms_replay_blas_open(bool wants_library, const ms_stop *stop)
{
    ms_blas *blas = calloc(1, sizeof *blas);
    if (!blas)
        return NULL;
    blas->name = "a plain loop";
    blas->stop = stop;
    if (wants_library)
        load(blas);
    return blas;
}

/* The library stays loaded: its threads may outlive the last product. */
void ms_replay_blas_close(ms_blas *blas)
{
    free(blas);
}

const char *ms_replay_blas_name(const ms_blas *blas)
{
    return blas->name;
}

uint64_t ms_replay_blas_tile_bytes(void)
{
    return TILES * sizeof(float) * TILE * TILE;
}

/* ---- elements ---- */

static float from_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint32_t to_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* Half precision; what is below its normal numbers is 0, which costs nothing in a rate. */
static float from_half(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000) << 16, exponent = half >> 10 & 31;
    uint32_t fraction = (uint32_t)(half & 1023) << 13;
    if (exponent == 0)
        return from_bits(sign);
    return from_bits(sign | (exponent == 31 ? 255 : exponent + 112) << 23 | fraction);
}

static uint16_t to_half(float value)
{
    uint32_t bits = to_bits(value), sign = bits >> 16 & 0x8000;
    int exponent = (int)(bits >> 23 & 255) - 112;
    if (exponent <= 0)
        return (uint16_t)sign;
    if (exponent >= 31)
        return (uint16_t)(sign | 31 << 10 | ((bits & 0x7fffff) != 0 && exponent == 143));
    return (uint16_t)(sign | (uint32_t)exponent << 10 | (bits >> 13 & 1023));
}

static float get(const void *items, uint64_t at, ms_dtype dtype)
{
    if (dtype == MS_DTYPE_BF16)
        return from_bits((uint32_t)((const uint16_t *)items)[at] << 16);
    if (dtype == MS_DTYPE_F16)
        return from_half(((const uint16_t *)items)[at]);
    if (dtype == MS_DTYPE_F64)
        return (float)((const double *)items)[at];
    return ((const float *)items)[at];
}

static void put(void *items, uint64_t at, ms_dtype dtype, float value)
{
    if (dtype == MS_DTYPE_BF16)
        ((uint16_t *)items)[at] = (uint16_t)(to_bits(value) >> 16);
    else if (dtype == MS_DTYPE_F16)
        ((uint16_t *)items)[at] = to_half(value);
    else if (dtype == MS_DTYPE_F64)
        ((double *)items)[at] = (double)value;
    else
        ((float *)items)[at] = value;
}

/* ---- tiles ---- */

/* A part of a matrix: its corner and its size. */
typedef struct part {
    uint64_t row, column, rows, columns;
} part;

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* `height` and `width` are those of the whole matrix. */
static void load_tile(const ms_blas_matrix *m, uint64_t height, uint64_t width, const part *p,
                      ms_dtype dtype, float *tile)
{
    for (uint64_t i = 0; i < p->rows; i++)
        for (uint64_t j = 0; j < p->columns; j++) {
            uint64_t row = p->row + i, column = p->column + j;
            uint64_t at = m->is_transposed ? column * height + row : row * width + column;
            tile[i * TILE + j] = get(m->items, at, dtype);
        }
}

static void store_tile(void *c, uint64_t width, const part *p, ms_dtype dtype, const float *tile)
{
    for (uint64_t i = 0; i < p->rows; i++)
        for (uint64_t j = 0; j < p->columns; j++)
            put(c, (p->row + i) * width + p->column + j, dtype, tile[i * TILE + j]);
}

/* Sums of so many rows and columns stay in registers. */
enum { BLOCK_ROWS = 4, BLOCK_COLUMNS = 8 };

/* Between tiles of which all else is checked, and far too slow with checks of their own. */
#define UNCHECKED __attribute__((no_sanitize("address", "undefined", "thread")))

UNCHECKED static void add_block(uint64_t inner, const float *a, const float *b, float *c)
{
    float sums[BLOCK_ROWS][BLOCK_COLUMNS] = {{0}};
    for (uint64_t k = 0; k < inner; k++)
        for (uint64_t i = 0; i < BLOCK_ROWS; i++)
            for (uint64_t j = 0; j < BLOCK_COLUMNS; j++)
                sums[i][j] += a[i * TILE + k] * b[k * TILE + j];
    for (uint64_t i = 0; i < BLOCK_ROWS; i++)
        for (uint64_t j = 0; j < BLOCK_COLUMNS; j++)
            c[i * TILE + j] += sums[i][j];
}

UNCHECKED static void add_rest(const part *p, uint64_t inner, const float *a, const float *b,
                               float *c)
{
    for (uint64_t i = p->row; i < p->row + p->rows; i++)
        for (uint64_t k = 0; k < inner; k++) {
            float factor = a[i * TILE + k];
            for (uint64_t j = p->column; j < p->column + p->columns; j++)
                c[i * TILE + j] += factor * b[k * TILE + j];
        }
}

static void add_plainly(const part *p, uint64_t inner, const float *a, const float *b, float *c)
{
    uint64_t rows = p->rows - p->rows % BLOCK_ROWS;
    uint64_t columns = p->columns - p->columns % BLOCK_COLUMNS;
    for (uint64_t j = 0; j < columns; j += BLOCK_COLUMNS)
        for (uint64_t i = 0; i < rows; i += BLOCK_ROWS)
            add_block(inner, a + i * TILE, b + j, c + i * TILE + j);
    const part right = {0, columns, rows, p->columns - columns};
    const part below = {rows, 0, p->rows - rows, p->columns};
    add_rest(&right, inner, a, b, c);
    add_rest(&below, inner, a, b, c);
}

static void add_product(const ms_blas *blas, const part *p, uint64_t inner, const float *a,
                        const float *b, float *c)
{
    if (blas->multiply)
        blas->multiply(BY_ROWS, AS_IT_IS, AS_IT_IS, (int)p->rows, (int)p->columns, (int)inner, 1.0F,
                       a, TILE, b, TILE, 1.0F, c, TILE);
    else
        add_plainly(p, inner, a, b, c);
}

static void multiply_tile(const ms_blas *blas, const ms_blas_shape *s, const ms_blas_matrix *a,
                          const ms_blas_matrix *b, const part *p, float *tiles)
{
    float *left = tiles, *right = tiles + TILE * TILE, *sum = tiles + 2 * TILE * TILE;
    memset(sum, 0, sizeof *sum * TILE * p->rows);
    for (uint64_t k = 0; k < s->inner && !ms_stop_asked(blas->stop); k += TILE) {
        uint64_t inner = least(TILE, s->inner - k);
        const part of_a = {p->row, k, p->rows, inner}, of_b = {k, p->column, inner, p->columns};
        load_tile(a, s->rows, s->inner, &of_a, s->dtype, left);
        load_tile(b, s->inner, s->columns, &of_b, s->dtype, right);
        add_product(blas, p, inner, left, right, sum);
    }
}

/* ---- all of it ---- */

static bool is_direct(const ms_blas *blas, const ms_blas_shape *s, const ms_blas_matrix *a,
                      const ms_blas_matrix *b)
{
    return blas->multiply && s->dtype == MS_DTYPE_F32 && !a->is_transposed && !b->is_transposed &&
           s->rows <= INT32_MAX && s->inner <= INT32_MAX && s->columns <= INT32_MAX;
}

/* So many rows at a time that a library is soon back, and none of its rate is lost. */
static void multiply_directly(const ms_blas *blas, const ms_blas_shape *s, const float *a,
                              const float *b, float *c)
{
    enum { LEAST_ROWS = 256 };
    static const double most_flops = 1e10;
    uint64_t most = (uint64_t)(most_flops / (2 * (double)s->inner * (double)s->columns + 1));
    most = most < LEAST_ROWS ? LEAST_ROWS : most;
    for (uint64_t i = 0; i < s->rows && !ms_stop_asked(blas->stop); i += most)
        blas->multiply(BY_ROWS, AS_IT_IS, AS_IT_IS, (int)least(most, s->rows - i), (int)s->columns,
                       (int)s->inner, 1.0F, a + i * s->inner, (int)s->inner, b, (int)s->columns,
                       0.0F, c + i * s->columns, (int)s->columns);
}

void ms_replay_blas_multiply(const ms_blas *blas, const ms_blas_shape *s, ms_blas_matrix a,
                             ms_blas_matrix b, void *c, void *tiles)
{
    if (is_direct(blas, s, &a, &b)) {
        multiply_directly(blas, s, a.items, b.items, c);
        return;
    }
    float *sum = (float *)tiles + 2 * TILE * TILE;
    for (uint64_t i = 0; i < s->rows; i += TILE)
        for (uint64_t j = 0; j < s->columns && !ms_stop_asked(blas->stop); j += TILE) {
            const part p = {i, j, least(TILE, s->rows - i), least(TILE, s->columns - j)};
            multiply_tile(blas, s, &a, &b, &p, tiles);
            store_tile(c, s->columns, &p, s->dtype, sum);
        }
}
