/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The rows of the tape's tables: tensors, nodes, parameters.
 */
#ifndef MS_TORCH_AUTOGRAD_RECORDS_H
#define MS_TORCH_AUTOGRAD_RECORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/tensor/dtype.h"
#include "core/trace/trace.h"

typedef uint32_t ms_tensor; /* 0 = none */

typedef struct ms_shape {
    uint32_t rank;
    ms_dim dims[MS_MAX_RANK];
} ms_shape;

typedef struct ms_tensor_info {
    uint32_t storage;
    uint32_t refs;        /* locals, saved slots, buffers; 0 = floating */
    uint32_t node;        /* grad_fn, or MS_NONE */
    uint32_t leaf;        /* parameter number, or MS_NONE */
    uint16_t node_output; /* which output of the node this is */
    uint8_t dtype;
    bool requires_grad;
    bool is_view; /* shares a storage it did not make */
    ms_shape shape;
    uint64_t strides[MS_MAX_RANK]; /* elements */
} ms_tensor_info;

struct ms_tape;
typedef struct ms_node ms_node;

/* Runs the backward of an operator's node: grads[i] is the gradient of output i (0 = none); fills
 * out[i] with the gradient of input i for each input that needs one. May replace a gradient by a
 * copy it owns (and release the original). Everything it allocates and does not return must be
 * released before it returns. */
typedef void (*ms_backward_fn)(struct ms_tape *tape, const ms_node *node, ms_tensor *grads,
                               ms_tensor *out);

typedef struct ms_op {
    const char *name; /* ATen's name if there is one; NULL: its backward runs operators, which are
                         recorded instead */
    const char *node_name;   /* the autograd node, as PyTorch prints it */
    ms_backward_fn backward; /* NULL: not differentiable */
} ms_op;

enum { MS_MAX_KEPT_ARGUMENTS = 5, MS_MAX_EDGES = 4, MS_MAX_SAVED = 11, MS_NODE_NUMBERS = 8 };

typedef struct ms_edge {
    uint32_t node; /* MS_NONE: no gradient needed, or the leaf below */
    uint32_t leaf; /* parameter number, or MS_NONE */
    uint16_t output;
} ms_edge;

/* Metadata of an input: shape and dtype that its gradient must have. */
typedef struct ms_meta {
    ms_shape shape;
    uint8_t dtype;
} ms_meta;

struct ms_node {
    const ms_op *op;
    uint32_t scope;
    uint32_t module; /* the module with hooks that ran: a scope or MS_NONE */
    uint8_t edge_count, saved_count;
    uint16_t output_count;
    ms_edge edges[MS_MAX_EDGES];
    uint32_t first_meta;   /* the inputs' metadata */
    uint32_t first_buffer; /* gradients of the outputs, while backward runs */
    uint32_t hooks;        /* saved-tensor hooks that packed some of its tensors, or MS_NONE */
    uint32_t packed[MS_MAX_SAVED]; /* handles of these hooks; MS_NONE: the tensor is in `saved` */
    ms_tensor saved[MS_MAX_SAVED]; /* in the order PyTorch releases them */
    uint64_t numbers[MS_NODE_NUMBERS]; /* arguments of its backward */
    uint32_t dependencies;
    bool visited;
    bool is_distributed; /* its outputs are DTensors, whose gradients are never added in place */
};

enum { MS_OPTIMIZER_STATES = 6 };

/* A parameter: its storage, and the gradient once there is one. */
typedef struct ms_parameter {
    ms_tensor tensor, grad;
    ms_tensor sum;  /* sum of its gradients in fp32; 0: they are accumulated in `grad` */
    ms_tensor cast; /* autocast's copy in the lower dtype, while the context is open */
    uint32_t name, scope;
    bool is_embedding;   /* the weight of an embedding, for optimizers that distinguish them */
    bool is_layer_norm;  /* of torch.nn.LayerNorm, which Trainer lets not decay */
    bool is_frozen;      /* it leaves the trained ones when the model is built */
    bool is_reached;     /* a gradient has arrived */
    bool is_distributed; /* a DTensor over ranks that share products: a group of the optimizer */
    bool redistributes;  /* its gradient is placed otherwise: the optimizer makes its own */
    uint64_t ranks;      /* that have a part of it; 0 or 1: it is whole */
    ms_tensor states[MS_OPTIMIZER_STATES]; /* of its optimizer */
    bool states_made;
    bool is_captured; /* not a parameter but an input whose gradient is requested: passed on
                         unchanged; its casts are not cached */
    bool is_of_graph; /* not a parameter but a tensor of the graph that requires a gradient */
    bool is_view;     /* of a flat parameter, by an operator: its casts are not cached either */
    uint32_t pending; /* gradient contributions still missing in this backward */
    ms_tensor buffer; /* contributions so far */
    uint32_t stream;  /* from whose pool their sums come */
} ms_parameter;

/* A parameter among all, trained or frozen, in the order of modules. */
typedef struct ms_placed {
    ms_tensor tensor;
    uint32_t name, scope;
    uint32_t parameter; /* into the trained ones; MS_NONE: it is frozen */
    bool is_embedding;
} ms_placed;

/* A parameter's copy in autocast's dtype. */
typedef struct ms_cast {
    uint32_t parameter;
    ms_tensor tensor;
} ms_cast;

/* A storage without bytes that represents another; freeing it releases a reference to the other. */
typedef struct ms_stand_in {
    uint32_t storage, original;
} ms_stand_in;

/* Buffers that a library allocates per thread on first use and keeps. */
typedef enum ms_workspace {
    MS_WORKSPACE_CUBLAS,
    MS_WORKSPACE_CUBLASLT,
    MS_WORKSPACE_COUNT
} ms_workspace;

#endif
