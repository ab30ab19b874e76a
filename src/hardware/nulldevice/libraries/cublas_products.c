/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Products of cuBLAS and cuBLASLt. They complete at once; what is known of one is how long it would
 * take, from its sizes.
 */
#include <stdlib.h>

#include "hardware/nulldevice/captures.h"
#include "hardware/nulldevice/nulldevice.h"
#include "hardware/nulldevice/times.h"

/* cudaDataType_t: bytes of a real element, by number; complex ones have two. */
static double bytes_of(int type)
{
    switch (type) {
    case 1: /* double, and its complex */
    case 5:
        return 8;
    case 0: /* float, integers of 32 bits, and their complex */
    case 4:
    case 10:
    case 11:
        return 4;
    case 2: /* half, bfloat16 */
    case 6:
    case 14:
    case 15:
        return 2;
    default:
        return 1;
    }
}

/* The products that follow in this thread have no stream among their arguments. */
static _Thread_local const void *stream_of_products;

MS_NULL_CALL(int, cublasSetStream_v2, (void *handle, const void *stream))
{
    (void)handle;
    stream_of_products = stream;
    ms_null_work(stream, 0); /* other calls that follow are work as well, of no known time */
    return MS_NULL_OK;
}

static int multiply(int m, int n, int k, double count, double element_bytes)
{
    ms_null_work(stream_of_products, ms_null_time_of_products(m, n, k, count, element_bytes));
    return MS_NULL_OK;
}

/* ---- cuBLAS ---- */

/* Leading arguments of a product; those behind the last one that is used are left out. */
#define SIZES void *handle, int op_a, int op_b, int m, int n, int k
#define UNUSED (void)handle, (void)op_a, (void)op_b

#define PLAIN(name, bytes)                                                                         \
    MS_NULL_CALL(int, name, (SIZES))                                                               \
    {                                                                                              \
        UNUSED;                                                                                    \
        return multiply(m, n, k, 1, bytes);                                                        \
    }
PLAIN(cublasSgemm_v2, 4)
PLAIN(cublasDgemm_v2, 8)
PLAIN(cublasHgemm, 2)

#define STRIDED(name, bytes)                                                                       \
    MS_NULL_CALL(int, name,                                                                        \
                 (SIZES, const void *alpha, const void *a, int lda, long long stride_a,            \
                  const void *b, int ldb, long long stride_b, const void *beta, void *c, int ldc,  \
                  long long stride_c, int count))                                                  \
    {                                                                                              \
        UNUSED, (void)alpha, (void)a, (void)lda, (void)stride_a, (void)b, (void)ldb;               \
        (void)stride_b, (void)beta, (void)c, (void)ldc, (void)stride_c;                            \
        return multiply(m, n, k, count, bytes);                                                    \
    }
STRIDED(cublasSgemmStridedBatched, 4)
STRIDED(cublasDgemmStridedBatched, 8)

MS_NULL_CALL(int, cublasGemmEx, (SIZES, const void *alpha, const void *a, int type))
{
    UNUSED, (void)alpha, (void)a;
    return multiply(m, n, k, 1, bytes_of(type));
}

MS_NULL_CALL(int, cublasSgemmEx, (SIZES, const void *alpha, const void *a, int type))
{
    return cublasGemmEx(handle, op_a, op_b, m, n, k, alpha, a, type);
}

MS_NULL_CALL(int, cublasGemmStridedBatchedEx,
             (SIZES, const void *alpha, const void *a, int type, int lda, long long stride_a,
              const void *b, int type_b, int ldb, long long stride_b, const void *beta, void *c,
              int type_c, int ldc, long long stride_c, int count))
{
    UNUSED, (void)alpha, (void)a, (void)lda, (void)stride_a, (void)b, (void)type_b, (void)ldb;
    (void)stride_b, (void)beta, (void)c, (void)type_c, (void)ldc, (void)stride_c;
    return multiply(m, n, k, count, bytes_of(type));
}

MS_NULL_CALL(int, cublasGemmBatchedEx,
             (SIZES, const void *alpha, const void *a, int type, int lda, const void *b, int type_b,
              int ldb, const void *beta, void *c, int type_c, int ldc, int count))
{
    UNUSED, (void)alpha, (void)a, (void)lda, (void)b, (void)type_b, (void)ldb, (void)beta;
    (void)c, (void)type_c, (void)ldc;
    return multiply(m, n, k, count, bytes_of(type));
}

/* ---- cuBLASLt ---- */

typedef struct layout {
    int type, count;
    uint64_t rows, columns;
} layout;

enum { BATCH_COUNT = 5 }; /* CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT */

MS_NULL_CALL(int, cublasLtMatrixLayoutCreate,
             (layout * *made, int type, uint64_t rows, uint64_t columns))
{
    enum { ALLOCATION_FAILED = 3 };
    *made = calloc(1, sizeof **made);
    if (!*made)
        return ALLOCATION_FAILED;
    **made = (layout){type, 1, rows, columns};
    return MS_NULL_OK;
}

MS_NULL_CALL(int, cublasLtMatrixLayoutSetAttribute,
             (layout * l, int attribute, const void *value, size_t bytes))
{
    if (attribute == BATCH_COUNT && bytes == sizeof(int))
        l->count = *(const int *)value;
    return MS_NULL_OK;
}

MS_NULL_CALL(int, cublasLtMatrixLayoutDestroy, (layout * l))
{
    free(l);
    return MS_NULL_OK;
}

/* The first operand is m x k or, transposed, k x m. */
static double time_of(const layout *a, const layout *d)
{
    double m = (double)d->rows, n = (double)d->columns;
    double k = m > 0 ? (double)a->rows * (double)a->columns / m : 0;
    return ms_null_time_of_products(m, n, k, d->count, bytes_of(a->type));
}

MS_NULL_CALL(int, cublasLtMatmul,
             (void *handle, void *operation, void *alpha, void *a, const layout *a_layout, void *b,
              void *b_layout, void *beta, void *c, void *c_layout, void *d, const layout *d_layout,
              void *algorithm, void *workspace, size_t workspace_bytes, const void *stream))
{
    (void)handle, (void)operation, (void)alpha, (void)a, (void)b, (void)b_layout, (void)beta,
        (void)c;
    (void)c_layout, (void)d, (void)algorithm, (void)workspace, (void)workspace_bytes;
    ms_null_work(stream, time_of(a_layout, d_layout));
    return MS_NULL_OK;
}
