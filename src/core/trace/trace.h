/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The trace: what a training step allocates, frees and executes, in order. Filled by the simulated
 * step (or from a measurement); read by the allocator, the ledger, the clock and the views, each in
 * one pass. Owned by whoever created it; ms_trace_free releases it.
 */
#ifndef MS_CORE_TRACE_TRACE_H
#define MS_CORE_TRACE_TRACE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/vec.h"
#include "core/tensor/dim.h"
#include "core/tensor/dtype.h"

enum { MS_MAX_RANK = 5 };
#define MS_NONE UINT32_MAX

typedef enum ms_event_kind {
    MS_EVENT_ALLOC,    /* id = storage */
    MS_EVENT_FREE,     /* id = storage */
    MS_EVENT_OP_BEGIN, /* id = operator execution (index into ops) */
    MS_EVENT_OP_END,   /* id = operator execution */
    MS_EVENT_MARK,     /* id = mark */
    MS_EVENT_LAYER,  /* this layer runs from now on; id = its number, or MS_NONE: outside the layers
                      */
    MS_EVENT_WORK,   /* id = work, enqueued on its stream */
    MS_EVENT_WAIT,   /* id = wait: later work of its stream waits for this work */
    MS_EVENT_RECORD, /* id = use: another stream uses a storage (Tensor.record_stream) */
    MS_EVENT_HOST_EVENT, /* the host records an event; id = its number, in order from 0 */
    MS_EVENT_HOST_WAIT,  /* the host waits until the device has reached that event; id = its number,
                            or  MS_NONE: until it has done all there is */
    MS_EVENT_EMPTY_CACHE /* the allocator releases its cached memory; no id */
} ms_event_kind;

typedef struct ms_event {
    uint32_t kind; /* ms_event_kind */
    uint32_t id;
} ms_event;

/* What a storage is used for. A storage saved by autograd is an activation, whatever created it. */
typedef enum ms_category {
    MS_CATEGORY_WEIGHT,
    MS_CATEGORY_BUFFER,
    MS_CATEGORY_GRADIENT,
    MS_CATEGORY_OPTIMIZER_STATE,
    MS_CATEGORY_INPUT,
    MS_CATEGORY_ACTIVATION,
    MS_CATEGORY_TEMPORARY,
    MS_CATEGORY_WORKSPACE,
    MS_CATEGORY_COUNT
} ms_category;

/* One allocation. Its shape is that of its creation, from which the formula of its bytes is
 * derived. */
typedef struct ms_storage {
    uint64_t bytes;                /* as requested, before rounding */
    uint32_t op;                   /* operator execution that allocated it, or MS_NONE */
    uint32_t scope;                /* module it belongs to */
    uint32_t name;                 /* index into names: "q_proj.weight", "attention output" */
    uint32_t symbols[MS_MAX_RANK]; /* of each dimension */
    uint8_t rank, dtype, category;
    bool saved;       /* saved by autograd at some time */
    bool is_cached;   /* keys or values that later passes read */
    bool is_changed;  /* written to by an operator that works in place, after it was made */
    uint32_t stream;  /* whose pool it is allocated from */
    uint32_t same_as; /* the first storage with the same content, which was offloaded and fetched
                         again; or MS_NONE */
} ms_storage;

typedef enum ms_phase {
    MS_PHASE_BUILD, /* the model is built on the device */
    MS_PHASE_FORWARD,
    MS_PHASE_BACKWARD,
    MS_PHASE_CLIP,
    MS_PHASE_OPTIMIZER,
    MS_PHASE_ZERO_GRAD,
    MS_PHASE_EVALUATION, /* between two steps */
    MS_PHASE_COUNT
} ms_phase;

const char *ms_phase_name(ms_phase phase);          /* "forward", ... */
const char *ms_category_name(ms_category category); /* "weights", "gradients", ... */

typedef struct ms_mark {
    bool begin;          /* begin or end of the phase */
    uint8_t phase;       /* ms_phase */
    uint16_t step;       /* 0 = build, 1 = first step, ... */
    uint32_t micro_step; /* 0-based, of forward and backward */
    uint32_t repeats;    /* micro-steps that this one represents, itself included; else 1 */
} ms_mark;

typedef enum ms_stream_kind {
    MS_STREAM_COMPUTE,
    MS_STREAM_COPY,       /* between the device and pinned memory of the host */
    MS_STREAM_COLLECTIVE, /* among the ranks of a group */
    MS_STREAM_HOST,       /* updates on the host's processor */
    MS_STREAM_KINDS
} ms_stream_kind;

/* The link that determines how fast a stream moves bytes. */
typedef enum ms_link {
    MS_LINK_NONE,        /* none: its operators are timed individually */
    MS_LINK_HOST,        /* between the device and the host, each way */
    MS_LINK_HOST_MEMORY, /* of the host */
    MS_LINK_PEER,        /* between devices of one host */
    MS_LINK_COUNT
} ms_link;

/* A queue whose work runs in order and concurrently with other streams. Operators run on the first.
 */
typedef struct ms_stream {
    uint8_t kind;   /* ms_stream_kind */
    uint8_t link;   /* ms_link */
    uint32_t name;  /* index into names: "copies to the host" */
    uint64_t ranks; /* of the group of a collective stream; 0: this rank only. Not in trace files */
} ms_stream;

/* The streams that ms_trace_init creates; others follow. */
enum {
    MS_STREAM_OPERATORS,
    MS_STREAM_TO_DEVICE,
    MS_STREAM_TO_HOST,
    MS_STREAM_UPDATES,
    MS_FIRST_STREAMS
};

typedef enum ms_work_kind {
    MS_WORK_TO_DEVICE,
    MS_WORK_TO_HOST,
    MS_WORK_HOST_UPDATE, /* an update on the host's processor */
    MS_WORK_ALL_GATHER,
    MS_WORK_REDUCE_SCATTER,
    MS_WORK_ALL_REDUCE,
    MS_WORK_SEND,
    MS_WORK_RECEIVE,
    MS_WORK_KINDS
} ms_work_kind;

/* Work of a stream other than operators. */
typedef struct ms_work {
    uint8_t kind; /* ms_work_kind */
    uint32_t stream;
    uint32_t source, target; /* storages that it reads and writes; MS_NONE: not on the device, or
                                several storages */
    uint32_t group;          /* group of ranks, from 0; MS_NONE: this rank only */
    uint32_t after;          /* earlier work that must finish first, or MS_NONE */
    uint32_t layer;          /* offloaded layer whose saved tensor it moves; or MS_NONE */
    uint64_t bytes;          /* moved; for host updates: read and written */
    uint64_t
        ranks; /* that a collective is among; 0: this rank only. Not in trace files, as scope */
    uint32_t scope; /* module whose tensors a collective carries; MS_NONE: of several modules */
} ms_work;

/* `stream` waits until the work is done. */
typedef struct ms_wait {
    uint32_t stream, work;
} ms_wait;

/* `stream` uses the storage; its block is not reused before the stream is done with it. */
typedef struct ms_use {
    uint32_t storage, stream;
} ms_use;

typedef enum ms_pass {
    MS_PASS_FORWARD,
    MS_PASS_RECOMPUTE, /* forward recomputed by activation checkpointing */
    MS_PASS_BACKWARD,
    MS_PASS_UPDATE /* clip, optimizer */
} ms_pass;

/* A tensor as an operator saw it. */
typedef struct ms_operand {
    uint32_t storage;
    uint32_t symbols[MS_MAX_RANK];
    uint64_t sizes[MS_MAX_RANK];
    uint8_t rank, dtype;
    bool is_output;
} ms_operand;

/* A product of matrices [rows, inner] and [inner, columns], `batches` times. */
typedef struct ms_gemm {
    uint64_t batches, rows, inner, columns;
    bool transposed; /* the left matrix is stored by columns */
} ms_gemm;

/* One execution of one operator. Recorded for the last (steady) step only. */
typedef struct ms_op_exec {
    const char
        *name; /* "mm", "silu", "flash_attention"; in the backward pass the node: "mm.backward" */
    uint32_t scope;         /* module */
    uint32_t first_operand; /* into operands */
    uint16_t operand_count;
    uint8_t pass;           /* ms_pass */
    uint8_t phase;          /* ms_phase */
    uint32_t first_product; /* into products: its matrix products */
    uint64_t flops;         /* multiply and add counted separately */
    uint64_t traffic_bytes; /* bytes read and written, roofline sense */
    uint8_t matmul_dtype;   /* dtype that determines the arithmetic rate */
    uint16_t product_count;
    uint32_t repeats; /* executions (micro-steps) that this one represents, itself included */
    bool is_random;   /* draws random numbers */
} ms_op_exec;

/* A module: "layers.3.self_attn" is {parent: layers.3, name: self_attn, layer: 3}. */
typedef struct ms_scope {
    uint32_t parent; /* MS_NONE at the root */
    uint32_t name;   /* index into names */
    uint32_t layer;  /* layer number, inherited by submodules; MS_NONE outside layers */
} ms_scope;

typedef struct ms_trace {
    ms_vec(ms_event) events;
    ms_vec(ms_storage) storages;
    ms_vec(ms_mark) marks;
    ms_vec(ms_stream) streams;
    ms_vec(ms_work) works;
    ms_vec(ms_wait) waits;
    ms_vec(ms_use) uses;
    ms_vec(ms_op_exec) ops;
    ms_vec(ms_operand) operands;
    ms_vec(ms_gemm) products;
    ms_vec(ms_scope) scopes;
    ms_vec(const char *) names; /* static text, or owned by `names_arena` */
    ms_symbols symbols;
    struct ms_arena *names_arena;
} ms_trace;

/* Initialises a trace with the first streams and nothing else. False when out of memory. */
bool ms_trace_init(ms_trace *trace);
void ms_trace_free(ms_trace *trace);

/* "model.layers.3.self_attn" into out; returns the length needed. */
uint32_t ms_trace_scope_path(const ms_trace *trace, uint32_t scope, char *out, uint32_t size);

/* "2*B*S*H" for a storage (bytes per element times its dimensions); returns the length needed. */
uint32_t ms_trace_formula(const ms_trace *trace, const ms_storage *storage, char *out,
                          uint32_t size);

/* ---- trace write ---- */

/* Writes a trace as JSON lines: each line is an object with one member, whose name is the kind
 * of the line: a head, the tables, then the events in order. schemas/trace.schema.json defines
 * the format. */

#define MS_TRACE_VERSION "1.0"

/* Facts about a trace in its file; a text may be NULL: unknown. */
typedef struct ms_trace_facts {
    const char *made_by; /* "memscope 0.1.0" */
    const char *run;     /* description of the run */
} ms_trace_facts;

/* The caller checks `out` for errors. The same trace and facts give the same bytes. */
void ms_trace_write(const ms_trace *trace, const ms_trace_facts *facts, FILE *out);

#endif
