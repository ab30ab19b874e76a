/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "torch/ops/dtensor/dtensor.h"

#include "core/trace/build.h"
#include "torch/autograd/engine.h"
#include "torch/autograd/work.h"
#include "torch/ops/ops.h"

/* ---- collectives ---- */

/* Functional collectives: the result is allocated from the pool of the operators' stream. What a
 * collective sends lives until somebody waits for the result. */

/* A host has so many devices: beyond, the link is another. */
enum { RANKS_PER_HOST = 8 };

typedef struct mesh {
    uint64_t ranks;
    uint32_t stream;
    ms_tensor sent;    /* lives until its result is waited for; 0: none */
    ms_mesh_wait wait; /* of `sent` */
} mesh;

static const ms_state_kind kind = {.bytes = sizeof(mesh)};

void ms_mesh_wait_for(ms_tape *tape)
{
    mesh *m = ms_hooks_find_state(tape, &kind);
    if (!m || !m->sent)
        return;
    ms_tensor sent = m->sent;
    m->sent = 0;
    ms_release(tape, sent);
}

static void operator_begins(ms_tape *tape, void *context, uint32_t number, const ms_op *op)
{
    const mesh *m = context;
    (void)number;
    (void)op;
    if (m->sent && m->wait == MS_WAITS_FOR_OPERATOR)
        ms_mesh_wait_for(tape);
}

void ms_mesh_begin(ms_tape *tape, uint64_t ranks)
{
    mesh *m = ms_hooks_state(tape, &kind);
    if (!m)
        return;
    m->ranks = ranks;
    const ms_stream row = {.kind = MS_STREAM_COLLECTIVE,
                           .link = ranks <= RANKS_PER_HOST ? MS_LINK_PEER : MS_LINK_NONE,
                           .name = ms_tape_name(tape, "tensor parallelism")};
    m->stream = ms_trace_add_stream(tape->trace, row);
    if (m->stream == MS_NONE)
        ms_tape_fail(tape, MS_ERR_NOMEM);
    ms_hooks_push_op(tape, (ms_op_hooks){.begin = operator_begins, .context = m});
}

/* The ranks of the mesh; 1: there is none. */
static uint64_t mesh_ranks(const ms_tape *tape)
{
    const mesh *m = ms_hooks_find_state(tape, &kind);
    return m ? m->ranks : 1;
}

/* Enqueues the collective, for which the operators wait: they use its result next. */
static void enqueue(ms_tape *tape, ms_work_kind work, uint64_t bytes)
{
    const mesh *m = ms_hooks_find_state(tape, &kind);
    if (ms_idle(tape))
        return;
    ms_work row = ms_work_of(work, bytes);
    row.stream = m->stream;
    row.group = 0;
    row.ranks = m->ranks;
    row.scope = tape->scope;
    ms_work_wait(tape, ms_work_begin(tape, row));
}

static uint64_t exchanged(ms_tape *tape, ms_tensor whole)
{
    uint64_t ranks = mesh_ranks(tape);
    return ms_idle(tape) || !whole ? 0 : ms_tensor_bytes(tape, whole) / ranks * (ranks - 1);
}

static ms_shape scaled(ms_tape *tape, ms_tensor tensor, uint32_t dim, bool up)
{
    ms_shape shape = ms_info(tape, tensor)->shape;
    uint64_t ranks = mesh_ranks(tape), size = shape.dims[dim].value;
    shape.dims[dim] = ms_dim_number(&tape->trace->symbols, up ? size * ranks : size / ranks);
    return shape;
}

static ms_tensor mesh_all_reduce(ms_tape *tape, ms_tensor tensor)
{
    if (ms_idle(tape) || !tensor)
        return 0;
    ms_tensor out =
        ms_empty(tape, ms_info(tape, tensor)->shape, (ms_dtype)ms_info(tape, tensor)->dtype);
    enqueue(tape, MS_WORK_ALL_REDUCE, 2 * exchanged(tape, tensor));
    ms_consume(tape, tensor);
    return out;
}

/* Dimensions before `dim` are 1. */
static bool leads(const ms_shape *shape, uint32_t dim)
{
    for (uint32_t i = 0; i < dim; i++)
        if (shape->dims[i].value != 1)
            return false;
    return true;
}

ms_tensor ms_mesh_all_gather(ms_tape *tape, ms_tensor tensor, uint32_t dim)
{
    if (ms_idle(tape) || !tensor)
        return 0;
    const ms_shape shape = scaled(tape, tensor, dim, true);
    ms_dtype dtype = (ms_dtype)ms_info(tape, tensor)->dtype;
    ms_tensor out = ms_empty(tape, shape, dtype);
    enqueue(tape, MS_WORK_ALL_GATHER, exchanged(tape, out));
    if (!leads(&shape, dim)) {
        ms_tensor joined = ms_empty(tape, shape, dtype);
        ms_consume(tape, out);
        out = joined;
    }
    ms_consume(tape, tensor);
    return out;
}

ms_tensor ms_mesh_reduce_scatter(ms_tape *tape, ms_tensor tensor, uint32_t dim, ms_mesh_wait wait)
{
    if (ms_idle(tape) || !tensor)
        return 0;
    const ms_shape whole = ms_info(tape, tensor)->shape, part = scaled(tape, tensor, dim, false);
    ms_dtype dtype = (ms_dtype)ms_info(tape, tensor)->dtype;
    mesh *m = ms_hooks_find_state(tape, &kind);
    ms_mesh_wait_for(tape);
    m->sent = ms_empty(tape, whole, dtype); /* its parts, joined along the first dimension */
    ms_retain(tape, m->sent);
    m->wait = wait;
    ms_tensor out = ms_empty(tape, part, dtype);
    enqueue(tape, MS_WORK_REDUCE_SCATTER, exchanged(tape, tensor));
    if (wait == MS_WAITS_NOW)
        ms_mesh_wait_for(tape);
    ms_consume(tape, tensor);
    return out;
}

/* ---- redistribute ---- */

/* Redistributions with their gradients. A gradient that is the same on all ranks, or one rank's
 * part already, passes as it is. */

static void pass_on(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    (void)tape;
    (void)node;
    out[0] = grads[0];
}

typedef ms_tensor (*redistribution)(ms_tape *tape, ms_tensor x, uint64_t number);

/* One node: forward by `run`. */
static ms_tensor redistribute(ms_tape *tape, const ms_op *op, ms_tensor x, redistribution run,
                              uint64_t number)
{
    if (ms_idle(tape) || !x) {
        ms_consume(tape, x);
        return 0;
    }
    ms_op_mark mark = ms_op_begin(tape, op);
    uint32_t node = ms_record(tape, op, 1, &x);
    ms_node_numbers(tape, node, 1, &number);
    ms_retain(tape, x);
    ms_tensor out = run(tape, x, number);
    ms_unown(tape, x);
    return ms_op_finish(tape, mark, node, 1, &x, out);
}

/* ---- a tensor that all ranks have ---- */

static ms_tensor enter(ms_tape *tape, ms_tensor x, uint64_t number)
{
    (void)number;
    const ms_tensor_info info = *ms_info(tape, x);
    return ms_alias(tape, x, info.shape, info.strides);
}

static void enter_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    (void)node;
    out[0] = mesh_all_reduce(tape, grads[0]);
}

static const ms_op enter_op = {"from_local", "_FromTorchTensorBackward", enter_backward};

ms_tensor ms_mesh_enter(ms_tape *tape, ms_tensor x)
{
    return redistribute(tape, &enter_op, x, enter, 0);
}

/* ---- a rank's part ---- */

static const ms_op own_op = {"from_local", "_FromTorchTensorBackward", pass_on};

ms_tensor ms_mesh_own(ms_tape *tape, ms_tensor x)
{
    return redistribute(tape, &own_op, x, enter, 0);
}

/* ---- tokens ---- */

static ms_tensor gather_tokens(ms_tape *tape, ms_tensor x, uint64_t number)
{
    (void)number;
    return ms_mesh_all_gather(tape, x, 1);
}

static void gather_tokens_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads,
                                   ms_tensor *out)
{
    out[0] = ms_mesh_reduce_scatter(tape, grads[0], 1, (ms_mesh_wait)node->numbers[0]);
}

static const ms_op gather_tokens_op = {"all_gather_into_tensor", "RedistributeBackward",
                                       gather_tokens_backward};

ms_tensor ms_mesh_gather_tokens(ms_tape *tape, ms_tensor x, bool at_once)
{
    bool outer = tape->is_distributed;
    tape->is_distributed = true;
    ms_tensor out = redistribute(tape, &gather_tokens_op, x, gather_tokens,
                                 at_once ? MS_WAITS_NOW : MS_WAITS_FOR_OPERATOR);
    tape->is_distributed = outer;
    return out;
}

/* ---- partial sums ---- */

static ms_tensor sum(ms_tape *tape, ms_tensor x, uint64_t number)
{
    (void)number;
    return mesh_all_reduce(tape, x);
}

static const ms_op sum_op = {"all_reduce", "RedistributeBackward", pass_on};

ms_tensor ms_mesh_sum(ms_tape *tape, ms_tensor x)
{
    return redistribute(tape, &sum_op, x, sum, 0);
}

static ms_tensor sum_tokens(ms_tape *tape, ms_tensor x, uint64_t number)
{
    return ms_mesh_reduce_scatter(tape, x, 1, (ms_mesh_wait)number);
}

static void sum_tokens_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads,
                                ms_tensor *out)
{
    (void)node;
    out[0] = ms_mesh_all_gather(tape, grads[0], 1);
}

static const ms_op sum_tokens_op = {"reduce_scatter_tensor", "RedistributeBackward",
                                    sum_tokens_backward};

ms_tensor ms_mesh_sum_tokens(ms_tape *tape, ms_tensor x, ms_mesh_wait wait)
{
    return redistribute(tape, &sum_tokens_op, x, sum_tokens, wait);
}

/* ---- the last dimension ---- */

static ms_tensor gather_last(ms_tape *tape, ms_tensor x, uint64_t number)
{
    (void)number;
    return ms_mesh_all_gather(tape, x, ms_info(tape, x)->shape.rank - 1);
}

/* This rank's part, a copy. */
static void gather_last_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads,
                                 ms_tensor *out)
{
    out[0] = ms_empty(tape, ms_input_meta(tape, node, 0)->shape,
                      (ms_dtype)ms_info(tape, grads[0])->dtype);
}

static const ms_op gather_last_op = {"all_gather_into_tensor", "RedistributeBackward",
                                     gather_last_backward};

ms_tensor ms_mesh_gather_last(ms_tape *tape, ms_tensor x)
{
    return redistribute(tape, &gather_last_op, x, gather_last, 0);
}

/* ---- vocabulary ---- */

/* Tables and scores whose rows or columns are split by vocabulary: indices of other ranks are
 * masked (torch/distributed/tensor/placement_types.py and tensor/parallel/loss.py). */

static ms_tensor held(ms_tape *tape, ms_tensor tensor)
{
    ms_retain(tape, tensor);
    return tensor;
}

static ms_tensor new_like(ms_tape *tape, ms_tensor like, ms_dtype dtype)
{
    return held(tape, ms_empty_like(tape, like, dtype));
}

/* ---- by vocabulary (vocabulary.c) ---- */

/* Indices outside this rank's rows are masked: the mask, retained, and indices that start at the
 * rank's first row, retained. `like`: the indices. */
static void mesh_mask(ms_tape *tape, ms_tensor like, ms_tensor *mask, ms_tensor *masked)
{
    ms_tensor below = new_like(tape, like, MS_DTYPE_BOOL);
    ms_tensor above = new_like(tape, like, MS_DTYPE_BOOL);
    *mask = new_like(tape, like, MS_DTYPE_BOOL);
    ms_release(tape, below);
    ms_release(tape, above);
    ms_tensor clone = new_like(tape, like, MS_DTYPE_I64);
    *masked = new_like(tape, like, MS_DTYPE_I64);
    ms_release(tape, clone);
}

/* ---- the table ---- */

ms_tensor ms_mesh_embedding(ms_tape *tape, ms_tensor weight, ms_tensor ids)
{
    if (ms_idle(tape) || !weight || !ids)
        return 0;
    ms_tensor mask, masked;
    ms_dim rows = ms_info(tape, weight)->shape.dims[0];
    mesh_mask(tape, ids, &mask, &masked);
    ms_tensor out = ms_embedding_rows(
        tape, weight, ids, ms_dim_number(&tape->trace->symbols, rows.value * mesh_ranks(tape)));
    ms_release(tape, masked);
    ms_release(tape, mask);
    return out;
}

/* ---- the loss ---- */

/* where(labels != ignore, value, 0): a mask and the number's tensor live for the call. */
static ms_tensor where_counted(ms_tape *tape, ms_tensor labels, const ms_shape *shape,
                               ms_dtype dtype)
{
    ms_tensor counted = new_like(tape, labels, MS_DTYPE_BOOL);
    ms_tensor zero = held(tape, ms_empty(tape, (ms_shape){.rank = 0}, dtype));
    ms_tensor out = held(tape, ms_empty(tape, *shape, dtype));
    ms_release(tape, zero);
    ms_release(tape, counted);
    return out;
}

/* The maximum or the sum of each row. */
static ms_tensor reduced_rows(ms_tape *tape, ms_tensor rows)
{
    if (ms_idle(tape) || !rows)
        return 0;
    ms_shape shape = ms_info(tape, rows)->shape;
    shape.dims[shape.rank - 1] = (ms_dim){.value = 1};
    return held(tape, ms_sum_to(tape, rows, &shape));
}

static ms_tensor all_reduced(ms_tape *tape, ms_tensor tensor)
{
    return held(tape, mesh_all_reduce(tape, tensor));
}

static ms_tensor log_softmax(ms_tape *tape, ms_tensor scores)
{
    ms_tensor own_most = reduced_rows(tape, scores);
    ms_tensor most = all_reduced(tape, own_most);
    ms_release(tape, own_most);
    ms_tensor shifted = new_like(tape, scores, MS_DTYPE_F32);
    ms_tensor powers = new_like(tape, scores, MS_DTYPE_F32);
    ms_tensor own_sum = reduced_rows(tape, powers);
    ms_release(tape, powers);
    ms_tensor sum = all_reduced(tape, own_sum);
    ms_release(tape, own_sum);
    ms_tensor log = new_like(tape, sum, MS_DTYPE_F32);
    ms_tensor out = new_like(tape, scores, MS_DTYPE_F32);
    ms_release(tape, shifted);
    ms_release(tape, most);
    ms_release(tape, sum);
    ms_release(tape, log);
    return out;
}

static ms_shape column_of(ms_tape *tape, ms_tensor labels)
{
    return MS_SHAPE(ms_info(tape, labels)->shape.dims[0], (ms_dim){.value = 1});
}

static ms_tensor scalar(ms_tape *tape, ms_dtype dtype)
{
    return held(tape, ms_empty(tape, (ms_shape){.rank = 0}, dtype));
}

/* The mean, and the number of labels as a number of the scores' type. */
static ms_tensor mean(ms_tape *tape, ms_tensor labels, ms_tensor counted_losses, ms_tensor *total)
{
    ms_tensor counted = ms_empty_like(tape, labels, MS_DTYPE_BOOL);
    ms_tensor count = scalar(tape, MS_DTYPE_I64);
    ms_consume(tape, ms_empty_like(tape, labels, MS_DTYPE_I64)); /* the sum's input */
    ms_consume(tape, counted);
    *total = scalar(tape, MS_DTYPE_F32);
    ms_release(tape, count);
    ms_tensor sum = ms_sum(tape, counted_losses);
    ms_tensor out = ms_empty(tape, (ms_shape){.rank = 0}, MS_DTYPE_F32);
    ms_consume(tape, sum);
    return out;
}

/* The scalar, floating; *total is retained. */
static ms_tensor nll_loss(ms_tape *tape, ms_tensor labels, ms_tensor *total)
{
    const ms_shape rows = ms_info(tape, labels)->shape, column = column_of(tape, labels);
    ms_tensor safe = where_counted(tape, labels, &rows, MS_DTYPE_I64);
    ms_tensor mask, masked;
    mesh_mask(tape, safe, &mask, &masked);
    ms_tensor own = held(tape, ms_empty(tape, column, MS_DTYPE_F32));
    ms_release(tape, mask);
    ms_tensor reduced = all_reduced(tape, own);
    ms_tensor negative = held(tape, ms_empty(tape, rows, MS_DTYPE_F32));
    ms_tensor losses = where_counted(tape, labels, &rows, MS_DTYPE_F32);
    ms_release(tape, negative);
    ms_tensor out = mean(tape, labels, losses, total);
    const ms_tensor locals[] = {losses, safe, masked, own, reduced};
    for (size_t i = 0; i < sizeof locals / sizeof *locals; i++)
        ms_release(tape, locals[i]);
    return out;
}

/* The gradient of the scores, for both operators at once. */
static void cross_entropy_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads,
                                   ms_tensor *out)
{
    ms_tensor log_probs = node->saved[1], labels = node->saved[2];
    (void)grads;
    const ms_shape rows = ms_info(tape, labels)->shape, column = column_of(tape, labels);
    ms_tensor grad = scalar(tape, MS_DTYPE_F32);
    ms_tensor safe = where_counted(tape, labels, &column, MS_DTYPE_I64);
    ms_tensor input = new_like(tape, log_probs, MS_DTYPE_F32);
    ms_tensor mask, masked;
    mesh_mask(tape, labels, &mask, &masked);
    ms_tensor wide = new_like(tape, mask, MS_DTYPE_F32);
    ms_tensor update = new_like(tape, mask, MS_DTYPE_F32);
    ms_release(tape, wide);
    ms_tensor range = held(tape, ms_empty(tape, rows, MS_DTYPE_I64));
    ms_tensor grad_rows = where_counted(tape, labels, &column, MS_DTYPE_F32);
    ms_release(tape, grad);
    ms_tensor powers = new_like(tape, log_probs, MS_DTYPE_F32);
    ms_tensor sum = new_like(tape, log_probs, MS_DTYPE_F32);
    ms_release(tape, powers);
    out[0] = ms_empty_like(tape, log_probs, MS_DTYPE_F32);
    const ms_tensor locals[] = {sum, grad_rows, safe, input, mask, masked, update, range};
    for (size_t i = 0; i < sizeof locals / sizeof *locals; i++)
        ms_release(tape, locals[i]);
}

static const ms_op cross_entropy_op = {"cross_entropy", "NllLossBackward0", cross_entropy_backward};

ms_tensor ms_mesh_cross_entropy(ms_tape *tape, ms_tensor scores, ms_tensor labels)
{
    if (ms_idle(tape) || !scores || !labels) {
        ms_consume(tape, scores);
        return 0;
    }
    ms_op_mark mark = ms_op_begin(tape, &cross_entropy_op);
    uint32_t node = ms_record(tape, &cross_entropy_op, 1, &scores);
    bool outer = tape->grad_enabled;
    ms_retain(tape, scores);
    tape->grad_enabled = false;
    ms_tensor log_probs = log_softmax(tape, scores), total = 0;
    ms_tensor loss = ms_idle(tape) ? 0 : nll_loss(tape, labels, &total);
    tape->grad_enabled = outer;
    ms_unown(tape, scores);
    ms_save(tape, node, total);
    ms_save(tape, node, log_probs);
    ms_save(tape, node, labels);
    ms_release(tape, total);
    ms_release(tape, log_probs);
    return ms_op_finish(tape, mark, node, 2, (ms_tensor[]){scores, labels}, loss);
}
