/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The tape: tensors without data, and autograd over them. Programs (src/model) call operators
 * (src/torch/ops); operators allocate storages here and record nodes; ms_backward
 * (torch/autograd/engine.h) runs the nodes. Every allocation and free becomes an event of the
 * trace, at the point where it happens in PyTorch.
 *
 * References. A new tensor floats: the operator that consumes it releases it once its own result
 * exists, as Python drops a temporary after the call that used it. ms_local binds a tensor to a
 * frame: it then lives until the local is reassigned or the frame ends. A storage is freed with its
 * last tensor.
 *
 * Errors stick: after running out of memory or overflowing a size, every call does nothing and
 * returns tensor 0; tape->status has the error.
 */
#ifndef MS_TORCH_AUTOGRAD_TAPE_H
#define MS_TORCH_AUTOGRAD_TAPE_H

#include "core/device/device.h"
#include "torch/autograd/hooks.h"
#include "torch/autograd/records.h"

/* The settings of the run that autograd and operators depend on; the device is owned by the caller.
 */
typedef struct ms_tape_options {
    const ms_device *device; /* never NULL; "cpu" is a row */
    uint32_t torch_major, torch_minor;
    bool has_autocast;
    uint8_t routing; /* ms_routing_kind: of eager experts */
} ms_tape_options;

typedef struct ms_tape {
    ms_trace *trace;
    ms_tape_options options;
    ms_status status;
    const char *reason;             /* of MS_ERR_LIMIT: a sentence; NULL: too many events */
    const struct ms_error *failure; /* of MS_ERR_CONFIG: what a program cannot do; NULL: none */
    bool on_cpu;
    bool grad_enabled;
    bool is_evaluating;        /* dropout is off */
    bool in_backward;          /* operators are recorded under the names of their nodes */
    uint64_t host_saved_bytes; /* saved tensors in host memory, when the device is not the host */
    uint64_t passing_saved_bytes; /* saved by nodes that are dropped before the end of forward */
    bool recording;               /* write operator executions into the trace */
    bool keeps_operands;          /* with their operands, not only the bytes of these */
    bool has_autocast;
    uint8_t autocast_dtype;
    uint8_t pass;         /* ms_pass */
    uint8_t phase;        /* ms_phase */
    uint32_t micro_step;  /* of the step */
    uint32_t repeats;     /* micro-steps that the running one represents */
    uint8_t new_category; /* ms_category of new storages */
    uint32_t stream;      /* whose pool new storages are allocated from */
    uint32_t
        host_events; /* that the host has recorded; it knows those before host_done to be done */
    uint32_t host_done;
    uint32_t scope;       /* module that runs */
    uint32_t current_op;  /* operator execution, or MS_NONE */
    bool stopped;         /* early stop: unwinding, operators do nothing */
    uint32_t op_depth;    /* nesting depth of running operators */
    bool muted;           /* allocations have no bytes: see ms_op_hooks */
    bool is_meta;         /* new storages have bytes but no memory, as on PyTorch's meta device */
    uint32_t calls_again; /* times that the module which ran last was called again at once */
    bool has_own_linear;  /* F.linear is one function of Python, as zero.Init replaces it */
    uint32_t module;      /* the running module with hooks: a scope or MS_NONE */
    bool on_backward_thread;
    bool is_distributed; /* results of operators are DTensors: see ms_node */
    ms_tensor workspaces[2][MS_WORKSPACE_COUNT]; /* of the forward and the backward thread */
    ms_tensor code_maps[2];                      /* quantisation maps of 8-bit optimizer states */
    ms_hooks hooks;
    ms_vec(ms_tensor_info) tensors;
    ms_vec(uint32_t) free_tensors;
    ms_vec(uint32_t) storage_refs;  /* per storage of the trace */
    ms_vec(uint32_t) free_storages; /* rows that are used again: see ms_tape_forget */
    ms_vec(ms_node) nodes;
    ms_vec(ms_meta) metas;
    ms_vec(ms_tensor) buffers;
    ms_vec(ms_parameter) parameters; /* the trained ones */
    ms_vec(ms_tensor) frozen;        /* the others */
    ms_vec(ms_placed) in_order;      /* both, where some are frozen; else empty */
    uint32_t graph_leaves;           /* how many of `parameters`, the last, ms_require_grad added */
    ms_vec(ms_tensor) module_buffers; /* buffers of modules, in order */
    ms_vec(ms_stand_in) stand_ins;
    ms_vec(ms_tensor) graph_holds; /* kept by nodes until the graph is dropped */
    ms_vec(uint32_t) forgotten;  /* storages that forgotten nodes had saved: see ms_graph_forget */
    bool is_forgetting;          /* it runs */
    ms_vec(uint32_t) ready;      /* heap of nodes, largest first */
    ms_vec(ms_cast) casts;       /* cached by autocast */
    ms_vec(uint32_t) name_table; /* hash table; 0 = free */
    ms_vec(uint32_t) layer_scopes; /* the layers' modules; MS_NONE: not built */
} ms_tape;

/* In storage_refs: tensors refer to the storage, but it has no memory. */
#define MS_STORAGE_EMPTY (UINT32_C(1) << 31)

/* A trace of more events is refused (MS_ERR_LIMIT): 4,096 plain layers have half as many. */
enum { MS_MOST_EVENTS = 20000000 };

bool ms_tape_init(ms_tape *tape, ms_trace *trace, ms_tape_options options);
void ms_tape_free(ms_tape *tape);

/* Drops the events so far, for who has read them. Rows of storages that are freed are used again,
 * so that a long run of passes takes no more memory than one: a storage is one allocation only
 * between two calls. */
void ms_tape_forget(ms_tape *tape);

/* Records a failure; the first one wins. */
static inline void ms_tape_fail(ms_tape *tape, ms_status status)
{
    if (tape->status == MS_OK)
        tape->status = status;
}

/* A limit other than that on events, in a sentence which outlives the tape. */
static inline void ms_tape_refuse(ms_tape *tape, const char *reason)
{
    if (tape->status == MS_OK)
        tape->reason = reason;
    ms_tape_fail(tape, MS_ERR_LIMIT);
}

/* ---- tensors ---- */

static inline ms_tensor_info *ms_info(ms_tape *tape, ms_tensor tensor)
{
    return &tape->tensors.items[tensor];
}

/* True when operators should do nothing: a failure, or early stop of a recomputation. */
static inline bool ms_idle(const ms_tape *tape)
{
    return tape->status != MS_OK || tape->stopped;
}

ms_shape ms_shape_of(uint32_t rank, const ms_dim *dims);
#define MS_SHAPE(...)                                                                              \
    ms_shape_of(sizeof((ms_dim[]){__VA_ARGS__}) / sizeof(ms_dim), (ms_dim[]){__VA_ARGS__})
uint64_t ms_elements(const ms_shape *shape); /* saturating */
uint64_t ms_tensor_bytes(ms_tape *tape, ms_tensor tensor);
bool ms_same_shape(const ms_shape *a, const ms_shape *b);
bool ms_is_contiguous(const ms_tensor_info *info);
bool ms_is_dense(const ms_tensor_info *info); /* non-overlapping and dense in some order */

/* A new floating tensor on a new storage: contiguous, or in the given strides. */
ms_tensor ms_empty(ms_tape *tape, ms_shape shape, ms_dtype dtype);
ms_tensor ms_empty_strided(ms_tape *tape, ms_shape shape, const uint64_t *strides, ms_dtype dtype);
/* As torch.empty_like: the shape of `like`, its strides if dense, in `dtype`. */
ms_tensor ms_empty_like(ms_tape *tape, ms_tensor like, ms_dtype dtype);
/* A raw buffer of bytes. */
ms_tensor ms_empty_bytes(ms_tape *tape, uint64_t bytes, ms_dtype dtype);

/* Swaps storage and dtype of two tensors of the same shape. */
void ms_storage_swap(ms_tape *tape, ms_tensor a, ms_tensor b);

/* A floating tensor that shares the storage of `base`. */
ms_tensor ms_alias(ms_tape *tape, ms_tensor base, ms_shape shape, const uint64_t *strides);
/* An operator that works in place writes to the tensor's storage. */
void ms_change_in_place(ms_tape *tape, ms_tensor tensor);

void ms_tensor_destroy(ms_tape *tape, ms_tensor tensor);

static inline void ms_retain(ms_tape *tape, ms_tensor tensor)
{
    if (tensor)
        ms_info(tape, tensor)->refs++;
}

/* Undoes ms_retain; the last one destroys. */
static inline void ms_release(ms_tape *tape, ms_tensor tensor)
{
    if (tensor && --ms_info(tape, tensor)->refs == 0)
        ms_tensor_destroy(tape, tensor);
}

/* Undoes ms_retain, returns it floating. */
static inline ms_tensor ms_unown(ms_tape *tape, ms_tensor tensor)
{
    if (tensor)
        ms_info(tape, tensor)->refs--;
    return tensor;
}

/* Destroys it if it floats. */
static inline void ms_consume(ms_tape *tape, ms_tensor tensor)
{
    if (tensor && ms_info(tape, tensor)->refs == 0)
        ms_tensor_destroy(tape, tensor);
}

void ms_name_storage(ms_tape *tape, ms_tensor tensor, const char *name, ms_category category);

/* ---- storages: for code that keeps or moves them without a tensor ---- */

void ms_storage_retain(ms_tape *tape, uint32_t storage);
void ms_storage_release(ms_tape *tape, uint32_t storage);
/* A floating tensor on a storage that has memory, with shape, strides and type of another, which
 * need not be of this tape. */
ms_tensor ms_storage_tensor(ms_tape *tape, uint32_t storage, const ms_tensor_info *like);
/* Gives a tensor whose storage was freed a new one of the same size. */
void ms_storage_renew(ms_tape *tape, ms_tensor tensor);
/* untyped_storage().resize_(0), and back to its size: tensors and their views stay, the memory goes
 * and comes back from the current stream's pool, without its content. On the meta device there is
 * none to go. */
void ms_storage_empty(ms_tape *tape, ms_tensor tensor);
void ms_storage_refill(ms_tape *tape, ms_tensor tensor);
/* Whether the storage has memory now. */
static inline bool ms_storage_is_held(const ms_tape *tape, uint32_t storage)
{
    uint32_t refs = tape->storage_refs.items[storage];
    return refs > 0 && !(refs & MS_STORAGE_EMPTY);
}
/* `storage`, which has no bytes, represents `original`: one reference to `original` moves to it. */
void ms_storage_stand_in(ms_tape *tape, uint32_t storage, uint32_t original);
void ms_trace_event(ms_tape *tape, ms_event_kind kind, uint32_t id);
/* The host waits until the device has done all there is, as when it reads a value. In the trace
 * only where it matters: where streams use each other's storages. */
void ms_host_waits(ms_tape *tape);
/* The host records an event: its number. It waits for one. */
uint32_t ms_host_event(ms_tape *tape);
void ms_host_waits_for(ms_tape *tape, uint32_t event);
/* Marks the tensor's storage as saved, which makes it an activation. */
void ms_mark_saved(ms_tape *tape, ms_tensor tensor);

/* ---- frames: Python's locals ---- */

enum { MS_LOCALS_SLOTS = 40, MS_LOCALS_ARGUMENTS = 6 };

typedef struct ms_locals {
    ms_tape *tape;
    uint32_t count, argument_count;
    ms_tensor slots[MS_LOCALS_SLOTS];         /* cleared in order at the end */
    ms_tensor arguments[MS_LOCALS_ARGUMENTS]; /* retained until the call returns */
} ms_locals;

ms_locals ms_locals_begin(ms_tape *tape);
/* An argument of a module call: the caller's reference outlives every local. */
ms_tensor *ms_argument(ms_locals *frame, ms_tensor value);
ms_tensor *ms_local(ms_locals *frame, ms_tensor value);
void ms_assign(ms_locals *frame, ms_tensor *local, ms_tensor value);
/* Ends the frame; returns the value of `result` (may be NULL), floating if nothing else references
 * it. */
ms_tensor ms_locals_end(ms_locals *frame, const ms_tensor *result);

/* ---- modules ---- */

/* Adds a module below `parent` (MS_NONE: a root). Submodules inherit the layer number. */
uint32_t ms_scope_add(ms_tape *tape, uint32_t parent, const char *name, uint32_t layer);
/* Enters `scope`; returns the previous scope, to restore it later. */
static inline uint32_t ms_scope_enter(ms_tape *tape, uint32_t scope)
{
    uint32_t previous = tape->scope;
    tape->scope = scope;
    return previous;
}
uint32_t ms_tape_name(ms_tape *tape, const char *text);
/* The module of this layer; MS_NONE when there is none. */
uint32_t ms_layer_scope(const ms_tape *tape, uint32_t layer);
static inline uint32_t ms_scope_layer(const ms_tape *tape, uint32_t scope)
{
    return scope == MS_NONE ? MS_NONE : tape->trace->scopes.items[scope].layer;
}
/* The forward of a module with hooks begins and ends; such modules do not nest. MS_NONE: the whole
 * model. */
void ms_module_begin(ms_tape *tape, uint32_t scope);
void ms_module_end(ms_tape *tape, uint32_t scope);
/* This module runs from now on, or none (MS_NONE); the trace records its layer. */
void ms_module_enter(ms_tape *tape, uint32_t scope);

/* ---- operators ---- */

/* Brackets one operator's execution in the trace; nested ones belong to the outermost. */
typedef struct ms_op_mark {
    uint32_t op;
    bool outermost; /* and recorded */
    bool is_counted;
    bool is_hooked;
} ms_op_mark;
ms_op_mark ms_op_begin(ms_tape *tape, const ms_op *op);
void ms_op_operand(ms_tape *tape, ms_op_mark mark, ms_tensor tensor, bool is_output);
/* It draws random numbers. */
void ms_op_draws(ms_tape *tape, ms_op_mark mark);
void ms_op_work(ms_tape *tape, ms_op_mark mark, double flops, double traffic_bytes, ms_dtype dtype);
/* Adds a matrix product of the operator, for consumers that execute the trace; ms_op_work counts
 * its flops. */
void ms_op_product(ms_tape *tape, ms_op_mark mark, ms_gemm product);
void ms_op_end(ms_tape *tape, ms_op_mark mark);
/* The running execution, to which a backward adds work. */
static inline ms_op_mark ms_op_running(const ms_tape *tape)
{
    return (ms_op_mark){.op = tape->current_op, .outermost = tape->current_op != MS_NONE};
}
/* Ends an operator with one output: makes `out` the node's output, records the operands, ends the
 * execution, consumes the inputs (0: skipped), returns `out`; 0 when a recomputation stopped early
 * at this operator. */
ms_tensor ms_op_finish(ms_tape *tape, ms_op_mark mark, uint32_t node, uint32_t input_count,
                       const ms_tensor *inputs, ms_tensor out);

/* Whether the tensor needs a gradient. */
static inline bool ms_needs_grad(ms_tape *tape, ms_tensor tensor)
{
    return tensor && tape->grad_enabled && ms_info(tape, tensor)->requires_grad;
}

/* Records a node with these inputs if any needs a gradient; MS_NONE otherwise. */
uint32_t ms_record(ms_tape *tape, const ms_op *op, uint32_t input_count, const ms_tensor *inputs);
/* Saves a tensor in the node (nothing when node is MS_NONE). */
void ms_save(ms_tape *tape, uint32_t node, ms_tensor tensor);
/* Saves the tensor of a Python number, which hooks ignore. */
void ms_save_number(ms_tape *tape, uint32_t node, ms_tensor tensor);
/* Counts a saved tensor of a node that is dropped before the end of forward and is therefore not
 * recorded. */
void ms_save_in_passing(ms_tape *tape, ms_tensor tensor);
/* Numbers the backward needs (at most MS_NODE_NUMBERS). */
void ms_node_numbers(ms_tape *tape, uint32_t node, uint32_t count, const uint64_t *numbers);
/* Makes the tensors the node's outputs. */
void ms_attach(ms_tape *tape, uint32_t node, uint32_t output_count, const ms_tensor *outputs);

static inline const ms_meta *ms_input_meta(const ms_tape *tape, const ms_node *node, uint32_t input)
{
    return &tape->metas.items[node->first_meta + input];
}

/* Whether that input needs a gradient. */
static inline bool ms_node_wants(const ms_node *node, uint32_t input)
{
    return node->edges[input].node != MS_NONE || node->edges[input].leaf != MS_NONE;
}

#endif
