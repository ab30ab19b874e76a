/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What ggml's allocator needs for a graph: the highest byte of each device's arena when each result
 * is placed as it is made and released when its last reader has run. The rules are those of
 * ggml-alloc: the smallest hole that is large enough, holes that touch are joined, and an operator
 * may take the memory of a source of the same layout that nobody else reads.
 */
#ifndef MS_SERVE_INFER_GGML_GRAPH_ALLOC_H
#define MS_SERVE_INFER_GGML_GRAPH_ALLOC_H

#include "serve/infer/ggml/sched.h"

/* `bytes` of each device, and of the host after them. */
ms_status ms_graph_alloc(const ms_graph *g, const ms_schedule *schedule, uint64_t *bytes,
                         ms_error *err);

/* ---- pool ---- */

/* Scratch memory of ggml's CUDA kernels, beside the compute buffers: a pool for each device that
 * grows in steps of 2 MiB and is never smaller than what one operator took. The rules are those of
 * ggml-cuda (products of matrices by type and number of rows, flash attention). */

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
