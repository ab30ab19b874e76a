/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A graph of operators in the order in which ggml runs them, with what its allocator looks at:
 * sizes, layouts, sources, views. Tensors are added as the model's code makes them, and come into
 * the order when ms_graph_expand is called for what depends on them.
 */
#ifndef MS_INFER_LLAMA_GRAPH_H
#define MS_INFER_LLAMA_GRAPH_H

#include "base/error.h"
#include "base/vec.h"

enum { MS_GRAPH_SOURCES = 5 };
#define MS_GRAPH_NONE UINT32_MAX

typedef enum ms_graph_kind {
    MS_GRAPH_EXTERNAL, /* a weight or a cache: has memory of its own */
    MS_GRAPH_INPUT,    /* filled before the graph runs */
    MS_GRAPH_VIEW,     /* of another tensor's memory */
    MS_GRAPH_RESULT    /* of an operator */
} ms_graph_kind;

typedef struct ms_graph_tensor {
    ms_graph_kind kind;
    uint64_t ne[4], nb[4]; /* elements, and strides in bytes */
    uint64_t element_bytes;
    uint64_t extra_bytes; /* behind a result on a CUDA device */
    uint32_t source[MS_GRAPH_SOURCES], sources;
    uint32_t root;                     /* of a view: whose memory it is */
    int32_t place;                     /* of an external: its device; of others it is found */
    bool may_be_in_place, not_on_cuda; /* takes the memory of a source; but not on CUDA */
    bool is_output, is_ordered;
    bool is_gather; /* rows of a table: runs where the table is, on the host */
} ms_graph_tensor;

typedef struct ms_graph {
    ms_vec(ms_graph_tensor) tensors;
    ms_vec(uint32_t) order;  /* results and views, as they run */
    ms_vec(uint32_t) inputs; /* in the order in which they are met */
    bool has_failed;         /* out of memory */
} ms_graph;

/* Adds; MS_GRAPH_NONE when out of memory, which every later call takes. */
uint32_t ms_graph_external(ms_graph *g, int32_t place, uint64_t ne0, uint64_t ne1);
uint32_t ms_graph_input(ms_graph *g, uint64_t element_bytes, uint64_t ne0, uint64_t ne1,
                        uint64_t ne2, uint64_t ne3);
/* A contiguous result of the shape, in 32-bit floats. */
uint32_t ms_graph_result(ms_graph *g, uint64_t ne0, uint64_t ne1, uint64_t ne2, uint64_t ne3);
/* The same shape as `a`, in its memory where that is free. `b` may be MS_GRAPH_NONE. */
uint32_t ms_graph_in_place(ms_graph *g, uint32_t a, uint32_t b);
/* A contiguous view of all of it, or one with its strides turned so that it is no contiguous one.
 */
uint32_t ms_graph_reshape(ms_graph *g, uint32_t a, uint64_t ne0, uint64_t ne1, uint64_t ne2,
                          uint64_t ne3);
/* A part, with a stride between its second dimension's elements. */
uint32_t ms_graph_part(ms_graph *g, uint32_t a, uint64_t ne0, uint64_t ne1, uint64_t ne2,
                       uint64_t nb2);
uint32_t ms_graph_transposed(ms_graph *g, uint32_t a);
/* Adds a source to what was just made; MS_GRAPH_NONE adds none. */
void ms_graph_from(ms_graph *g, uint32_t tensor, uint32_t source);
/* Rows written into an external: a view of it. */
uint32_t ms_graph_write(ms_graph *g, uint32_t rows, uint32_t indices, uint32_t to);

/* A product of matrices: [w.ne1, a.ne1, a.ne2, a.ne3]. */
uint32_t ms_graph_product(ms_graph *g, uint32_t w, uint32_t a);

/* Brings the tensor, and first all it depends on that are not there yet, into the order. */
void ms_graph_expand(ms_graph *g, uint32_t tensor);

void ms_graph_free(ms_graph *g);

#endif
