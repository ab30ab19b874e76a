/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Scratch memory of ggml's CUDA kernels, beside the compute buffers: a pool for each device that
 * grows in steps of 2 MiB and is never smaller than what one operator took. The rules are those of
 * ggml-cuda (products of matrices by type and number of rows, flash attention).
 */
#ifndef MS_SERVE_INFER_GGML_POOL_H
#define MS_SERVE_INFER_GGML_POOL_H

#include "serve/infer/ggml/sched.h"

typedef struct ms_pool_hardware {
    uint32_t compute_capability, multiprocessors;
} ms_pool_hardware;

/* low and high differ where the figure depends on how many blocks of a kernel a multiprocessor
 * holds, or on which experts the tokens choose. */
typedef struct ms_pool_need {
    uint64_t low, bytes, high;
    uint64_t workspace;      /* of cuBLAS, which is asked for where it is called */
    bool may_lack_workspace; /* builds with a kernel for rotations do not call it */
} ms_pool_need;

/* Of the operators that run on `device`. */
ms_pool_need ms_pool_of(const ms_graph *g, const ms_schedule *schedule, uint32_t device,
                        const ms_pool_hardware *hardware);

#endif
