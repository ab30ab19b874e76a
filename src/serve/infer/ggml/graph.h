/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A graph of operators in the order in which ggml runs them, with what its scheduler and its
 * allocator look at: operators, sizes, layouts, sources, views. Tensors are added as the model's
 * code makes them, and come into the order when ms_graph_expand is called for what depends on them.
 *
 * Functions that add a tensor return MS_GRAPH_NONE when out of memory, which every later call
 * takes; `has_failed` then says so.
 */
#ifndef MS_SERVE_INFER_GGML_GRAPH_H
#define MS_SERVE_INFER_GGML_GRAPH_H

#include "base/error.h"
#include "base/vec.h"
#include "input/weights/stored_type.h"

enum { MS_GRAPH_SOURCES = 8, MS_GRAPH_HOST = -1 };
#define MS_GRAPH_NONE UINT32_MAX

typedef enum ms_graph_op {
    MS_GRAPH_WEIGHT, /* in memory of its own, at a place */
    MS_GRAPH_MEMORY, /* the same for caches and states */
    MS_GRAPH_INPUT,  /* filled before the graph runs */
    MS_GRAPH_COPY,   /* of a tensor at another place */
    MS_GRAPH_VIEW,   /* nothing runs */
    MS_GRAPH_PRODUCT,
    MS_GRAPH_PRODUCT_OF_CHOSEN, /* of each row with the matrices of its experts */
    MS_GRAPH_GATHER,            /* rows of a table */
    MS_GRAPH_ROPE,
    MS_GRAPH_FLASH, /* attention in one operator */
    MS_GRAPH_WRITE, /* into a view of the last source */
    MS_GRAPH_OTHER
} ms_graph_op;

typedef struct ms_graph_tensor {
    ms_graph_op op;
    ms_stored_id type;
    uint64_t ne[4], nb[4]; /* elements, and strides in bytes */
    uint64_t extra_bytes;  /* behind a result on a CUDA device */
    uint32_t source[MS_GRAPH_SOURCES], sources;
    uint32_t root;        /* of a view: whose memory it is; else MS_GRAPH_NONE */
    int32_t place;        /* of weights and memory: the device, or MS_GRAPH_HOST */
    bool has_wish;        /* the operator runs at its place whatever is around it */
    bool may_be_in_place; /* takes the memory of a source */
    bool lacks_cuda;      /* there is no CUDA kernel for it */
    bool is_precise;      /* a product in 32-bit floats whatever its sources are */
    bool is_output, is_ordered;
} ms_graph_tensor;

/* Operators that CUDA runs as one kernel when they all are on one device, one after the other: what
 * the first reads stays until the last has run. `keeps_all`: all that they read and make stays
 * until the operator after them has run. */
typedef struct ms_graph_fusion {
    uint32_t first, last; /* tensors */
    uint32_t count;       /* of operators, views too */
    bool keeps_all;
} ms_graph_fusion;

typedef struct ms_graph {
    ms_vec(ms_graph_tensor) tensors;
    ms_vec(uint32_t) order;  /* all but weights, memory and inputs, as they run */
    ms_vec(uint32_t) inputs; /* in the order in which they are met */
    ms_vec(ms_graph_fusion) fusions;
    bool has_failed; /* out of memory */
} ms_graph;

/* A tensor without sources. */
uint32_t ms_graph_leaf(ms_graph *g, ms_graph_op op, ms_stored_id type, const uint64_t ne[4]);
uint32_t ms_graph_input(ms_graph *g, ms_stored_id type, uint64_t ne0, uint64_t ne1, uint64_t ne2,
                        uint64_t ne3);
/* A contiguous result of the shape, in 32-bit floats. */
uint32_t ms_graph_result(ms_graph *g, ms_graph_op op, uint64_t ne0, uint64_t ne1, uint64_t ne2,
                         uint64_t ne3);
/* A contiguous result of the shape of `a`, in its memory where that is free and of this layout.
 * `b` may be MS_GRAPH_NONE. */
uint32_t ms_graph_in_place(ms_graph *g, ms_graph_op op, uint32_t a, uint32_t b);
/* A contiguous copy in the shape. */
uint32_t ms_graph_contiguous(ms_graph *g, uint32_t a, uint64_t ne0, uint64_t ne1, uint64_t ne2,
                             uint64_t ne3);
/* Adds a source to what was just made; MS_GRAPH_NONE adds none. */
void ms_graph_from(ms_graph *g, uint32_t tensor, uint32_t source);

/* A contiguous view of all of it. */
uint32_t ms_graph_reshape(ms_graph *g, uint32_t a, uint64_t ne0, uint64_t ne1, uint64_t ne2,
                          uint64_t ne3);
/* A part with the strides given. */
uint32_t ms_graph_part(ms_graph *g, uint32_t a, const uint64_t ne[4], uint64_t nb1, uint64_t nb2,
                       uint64_t nb3);
/* Dimensions `i` and `k` exchanged. */
uint32_t ms_graph_swapped(ms_graph *g, uint32_t a, int i, int k);
/* Writes `from` to the places `indices` (or MS_GRAPH_NONE) of `to`: a view of it. */
uint32_t ms_graph_write(ms_graph *g, uint32_t from, uint32_t indices, uint32_t to);

/* A product of matrices: [w.ne1, a.ne1, a.ne2, a.ne3]. */
uint32_t ms_graph_product(ms_graph *g, uint32_t w, uint32_t a);

/* Brings the tensor, and first all it depends on that are not there yet, into the order. */
void ms_graph_expand(ms_graph *g, uint32_t tensor);
void ms_graph_fuse(ms_graph *g, ms_graph_fusion fusion);

/* From the first byte to the last one, with the strides. */
uint64_t ms_graph_span(const ms_graph_tensor *t);
uint64_t ms_graph_elements(const ms_graph_tensor *t);
bool ms_graph_is_contiguous(const ms_graph_tensor *t);

void ms_graph_free(ms_graph *g);

#endif
