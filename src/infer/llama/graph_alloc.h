/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What ggml's allocator needs for a graph: the highest byte of its arena when each result is placed
 * as it is made and released when its last reader has run. The rules are those of ggml-alloc: the
 * smallest hole that is large enough, holes that touch are joined, and an operator may take the
 * memory of a source of the same layout that nobody else reads.
 */
#ifndef MS_INFER_LLAMA_GRAPH_ALLOC_H
#define MS_INFER_LLAMA_GRAPH_ALLOC_H

#include "infer/llama/graph.h"

/* The arena of one device, or of the host. */
typedef struct ms_graph_arena {
    struct {
        uint64_t begin, bytes;
    } holes[256];
    uint32_t count;
    uint64_t align, highest;
} ms_graph_arena;

/* All on the host, the CPU alone. */
ms_status ms_graph_alloc_host(ms_graph *g, uint64_t align, uint64_t *bytes, ms_error *err);

/* All but the gathering of embeddings on one device: inputs are copied to it before the first
 * operator, in the order in which they are read. */
ms_status ms_graph_alloc_device(ms_graph *g, uint64_t align, uint64_t host_align, uint64_t *bytes,
                                uint64_t *host_bytes, ms_error *err);

#endif
