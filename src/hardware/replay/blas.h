/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Products of matrices on the host: by OpenBLAS, BLIS or another BLAS where one is installed, which
 * is loaded by name, else by a plain loop.
 */
#ifndef MS_HARDWARE_REPLAY_BLAS_H
#define MS_HARDWARE_REPLAY_BLAS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/deadline.h"
#include "core/tensor/dtype.h"

typedef struct ms_blas ms_blas;

/* NULL when out of memory. `wants_library` false: the plain loop. Once `stop` is set, products end
 * before they are complete; NULL: never. */
ms_blas *ms_replay_blas_open(bool wants_library, const ms_stop *stop);
void ms_replay_blas_close(ms_blas *blas);
/* "OpenBLAS", ..., or "a plain loop". */
const char *ms_replay_blas_name(const ms_blas *blas);

/* A dense matrix by rows, or by columns where it is transposed. */
typedef struct ms_blas_matrix {
    void *items;
    bool is_transposed;
} ms_blas_matrix;

/* c[rows, columns] = a[rows, inner] * b[inner, columns]. What is not fp32 is converted tile by
 * tile in `tiles`, ms_replay_blas_tile_bytes of memory, which no other thread may use meanwhile. */
typedef struct ms_blas_shape {
    uint64_t rows, inner, columns;
    ms_dtype dtype; /* fp32, bf16, fp16 or fp64 */
} ms_blas_shape;
uint64_t ms_replay_blas_tile_bytes(void);
void ms_replay_blas_multiply(const ms_blas *blas, const ms_blas_shape *shape, ms_blas_matrix a,
                             ms_blas_matrix b, void *c, void *tiles);

#endif
