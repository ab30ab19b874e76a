/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The rows of the tape's tables: tensors, nodes, parameters, checkpoints, what is on the host.
 */
#ifndef MS_AUTOGRAD_RECORDS_H
#define MS_AUTOGRAD_RECORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "config/run/run_config.h"
#include "trace/trace.h"

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

/* How the node of an operator runs backward: grads[i] is the gradient of output i (0 = none); fills
 * out[i] with the gradient of input i for each input that needs one. May replace a gradient by a
 * copy it owns (and release the original). Everything allocated and not returned must be dropped
 * before it returns. */
typedef void (*ms_backward_fn)(struct ms_tape *tape, const ms_node *node, ms_tensor *grads,
                               ms_tensor *out);

typedef struct ms_op {
    const char *name;        /* ATen's name where there is one; NULL: its backward runs operators,
                                which are recorded instead */
    const char *node_name;   /* the autograd node, as PyTorch prints it */
    ms_backward_fn backward; /* NULL: not differentiable */
} ms_op;

enum { MS_MAX_HELD = 5, MS_MAX_EDGES = 4, MS_MAX_SAVED = 11, MS_NODE_NUMBERS = 8 };

typedef struct ms_edge {
    uint32_t node; /* MS_NONE: no gradient wanted, or the leaf below */
    uint32_t leaf; /* parameter number, or MS_NONE */
    uint16_t output;
} ms_edge;

/* An input as metadata: what its gradient must look like. */
typedef struct ms_meta {
    ms_shape shape;
    uint8_t dtype;
} ms_meta;

struct ms_node {
    const ms_op *op;
    uint32_t scope, layer;
    uint8_t edge_count, saved_count;
    uint16_t output_count;
    ms_edge edges[MS_MAX_EDGES];
    uint32_t first_meta;                /* the inputs' metadata */
    uint32_t first_buffer;              /* gradients of the outputs, while backward runs */
    uint32_t frame;                     /* checkpoint frame the saved slots belong to, or MS_NONE */
    bool has_sent;                      /* some saved tensors went to the host: see frame_index */
    uint32_t frame_index[MS_MAX_SAVED]; /* slot in the frame; if has_sent, in tape->sent, or MS_NONE
                                           where the tensor stayed */
    ms_tensor saved[MS_MAX_SAVED];      /* in the order PyTorch releases them */
    uint64_t numbers[MS_NODE_NUMBERS];  /* whatever the backward needs to know */
    uint32_t dependencies;
    bool visited;
};

enum { MS_OPTIMIZER_STATES = 6 };

/* A parameter: its storage, and the gradient once there is one. */
typedef struct ms_parameter {
    ms_tensor tensor, grad;
    ms_tensor sum;     /* of its gradients in fp32; 0: they add up in `grad` */
    ms_tensor leaving; /* its gradient, on the way to the host */
    bool is_at_home;   /* the host keeps it: see autograd/home.c */
    ms_tensor cast;    /* autocast's copy in the lower dtype, while the context is open */
    uint32_t name, scope;
    bool is_embedding; /* the weight of one, for optimizers that distinguish them */
    bool is_reached;   /* a gradient has arrived */
    ms_tensor states[MS_OPTIMIZER_STATES]; /* its optimizer's */
    bool states_made;
    bool is_captured; /* no parameter but an input whose gradient is asked for: it is handed over as
                         it is, and casts are not kept */
    uint32_t pending; /* gradient contributions still to come in this backward */
    ms_tensor buffer; /* contributions so far */
} ms_parameter;

/* One layer's parameters, which the host keeps: see autograd/home.c. */
typedef struct ms_home {
    uint32_t first_parameter, parameter_count;
    uint64_t bytes;
    uint32_t copy_in, copy_out; /* of the parameters, of the gradients */
    bool is_here, is_coming;    /* on the device, or soon */
} ms_home;

/* A parameter's copy in autocast's dtype. */
typedef struct ms_cast {
    uint32_t parameter;
    ms_tensor tensor;
} ms_cast;

/* Runs a checkpointed region again; the arguments are those of ms_checkpoint_run. */
typedef ms_tensor (*ms_region_fn)(struct ms_tape *tape, void *context, uint64_t number,
                                  ms_tensor input);

/* One activation checkpoint (torch.utils.checkpoint): see autograd/checkpoint.c. */
typedef struct ms_checkpoint {
    ms_region_fn region;
    void *context;
    uint64_t number;
    ms_tensor input;             /* held until the last holder goes; 0 when it went to the host */
    ms_tensor held[MS_MAX_HELD]; /* other arguments of the region, held as long */
    ms_tensor positional;        /* a second positional argument: saved like the input */
    ms_tensor *positional_at;    /* where the region reads it */
    uint32_t input_slot, positional_slot; /* in sent_slots, or MS_NONE */
    ms_tensor random_state;               /* of the host, where that is the device */
    uint32_t scope;
    uint32_t holder_count; /* saved tensors of the region */
    uint32_t live_holders;
    uint32_t first_recomputed; /* into recomputed, holder_count slots, once recomputed */
    uint32_t recomputed_count;
    bool is_recomputed;
    const ms_kept_op *kept_ops; /* selective: operators whose results stay */
    uint32_t kept_op_count;
    uint32_t first_kept, kept_count; /* into kept: storages held since forward */
    uint32_t taken_count;            /* of those, what recomputation has taken */
} ms_checkpoint;

/* Attention over queries [B, H, S, D], keys, values and a mask (0: none), held by the caller;
 * yields [B, S, H, D]. */
typedef ms_tensor (*ms_attention_fn)(struct ms_tape *tape, void *context, ms_tensor query,
                                     ms_tensor key, ms_tensor value, ms_tensor mask);

/* An attention function that backward calls again: see autograd/tile_attention.c. */
typedef struct ms_tiled_attention {
    ms_attention_fn run;
    void *context;
    uint32_t pieces;
} ms_tiled_attention;

/* A saved storage that went to the host: see autograd/offload.c. */
typedef struct ms_sent_piece {
    uint32_t storage;   /* on the device; held until its layer is released, then MS_NONE */
    uint32_t shape_of;  /* the same storage, for its shape, after it has gone */
    ms_tensor returned; /* what came back; held until the last slot has taken it */
    uint32_t slots;     /* saved slots that have not taken it yet */
    uint32_t layer;
    uint32_t copy_out, copy_in;
    bool is_back, is_waited_for;
} ms_sent_piece;

/* A saved slot whose storage went to the host. */
typedef struct ms_sent_slot {
    uint32_t piece;
    uint32_t leaf; /* as the tensor's that was saved */
    bool requires_grad;
    ms_shape shape;
    uint64_t strides[MS_MAX_RANK];
} ms_sent_slot;

/* One layer's saved tensors on their way to the host and back. */
typedef struct ms_offload {
    uint32_t layer;
    uint32_t first_piece, piece_count;
    bool is_released;
} ms_offload;

/* What stands for a kept storage in a recomputation: it has no bytes of its own. */
typedef struct ms_backing {
    uint32_t storage, kept;
} ms_backing;

/* How often an operator ran in a region, or in a layer. */
typedef struct ms_op_count {
    const char *name;
    uint32_t count;
} ms_op_count;

typedef ms_vec(ms_op_count) ms_op_counts;

/* Whether a storage that the running layer saved goes to the host. */
typedef struct ms_sent_choice {
    uint32_t storage;
    uint32_t piece; /* MS_NONE: it stays */
} ms_sent_choice;

/* Buffers that a library keeps per thread from its first use on. */
typedef enum ms_workspace {
    MS_WORKSPACE_CUBLAS,
    MS_WORKSPACE_CUBLASLT,
    MS_WORKSPACE_COUNT
} ms_workspace;

#endif
