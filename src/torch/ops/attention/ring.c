/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Ring attention, forward. The order in which tensors come and go is that of the local variables
 * of PyTorch's functions.
 */
#include "torch/ops/attention/ring.h"

#include "core/trace/build.h"
#include "torch/autograd/tape.h"
#include "torch/autograd/work.h"
#include "torch/ops/attention/attention.h"

typedef struct ms_ring {
    uint64_t ranks, rank;
    uint32_t stream;
} ms_ring;

/* Slots in which the node saves. */
enum { MS_RING_K, MS_RING_Q, MS_RING_V, MS_RING_LSE, MS_RING_OUT };

/* ---- ring parts ---- */

/* A host has so many devices: beyond, the link is another. */
enum { RANKS_PER_HOST = 8 };

static const ms_state_kind kind = {.bytes = sizeof(ms_ring)};

void ms_ring_begin(ms_tape *tape, uint64_t ranks, uint64_t rank)
{
    ms_ring *ring = ms_hooks_state(tape, &kind);
    if (!ring)
        return;
    const ms_stream row = {.kind = MS_STREAM_COLLECTIVE,
                           .link = ranks <= RANKS_PER_HOST ? MS_LINK_PEER : MS_LINK_NONE,
                           .name = ms_tape_name(tape, "context parallelism")};
    ring->ranks = ranks;
    ring->rank = rank;
    ring->stream = ms_trace_add_stream(tape->trace, row);
    if (ring->stream == MS_NONE)
        ms_tape_fail(tape, MS_ERR_NOMEM);
}

static const ms_ring *ring_of(const ms_tape *tape)
{
    return ms_hooks_find_state(tape, &kind);
}

bool ms_ring_is_there(const ms_tape *tape)
{
    return ring_of(tape) != NULL;
}

static /* ---- parts ---- */

    ms_tensor
    ring_half(ms_tape *tape, ms_tensor tensor)
{
    const ms_tensor_info info = *ms_info(tape, tensor);
    ms_shape shape = info.shape;
    shape.dims[2] = ms_dim_number(&tape->trace->symbols, shape.dims[2].value / 2);
    return ms_alias(tape, tensor, shape, info.strides);
}

/* The tensor, or if it is not contiguous a copy; floating. */
static ms_tensor ring_contiguous(ms_tape *tape, ms_tensor tensor)
{
    const ms_tensor_info info = *ms_info(tape, tensor);
    if (ms_is_contiguous(&info))
        return ms_alias(tape, tensor, info.shape, info.strides);
    return ms_empty(tape, info.shape, (ms_dtype)info.dtype);
}

/* Keys and values of so many ranks, joined and flat. */
static ms_tensor ring_pair(ms_tape *tape, ms_tensor key, uint64_t ranks, ms_dtype dtype)
{
    uint64_t elements = ms_elements(&ms_info(tape, key)->shape);
    return ms_empty_bytes(tape, 2 * ranks * elements * ms_dtype_bytes(dtype), dtype);
}

/* A collective that moves so many bytes, for which the operators wait. */
static void ring_enqueue(ms_tape *tape, ms_work_kind work, uint64_t bytes)
{
    ms_work row = ms_work_of(work, bytes);
    row.stream = ring_of(tape)->stream;
    row.group = 0;
    row.ranks = ring_of(tape)->ranks;
    row.scope = tape->scope;
    ms_work_wait(tape, ms_work_begin(tape, row));
}

/* The same of all ranks: gathers them. */
static ms_tensor ring_gather(ms_tape *tape, ms_tensor key)
{
    const ms_ring *ring = ring_of(tape);
    ms_tensor gathered = ring_pair(tape, key, ring->ranks, (ms_dtype)ms_info(tape, key)->dtype);
    ring_enqueue(tape, MS_WORK_ALL_GATHER,
                 ms_tensor_bytes(tape, gathered) / ring->ranks * (ring->ranks - 1));
    return gathered;
}

/* ---- ring backward ---- */

/* Ring attention, backward. Ring attention, backward: keys and values are gathered again;
 * their gradients, in fp32, go from rank to rank and are added to on the way. */

/* PyTorch's local variables; all are retained. */
typedef struct ring_state {
    ms_tape *tape;
    const ms_ring *ring;
    const ms_node *node;
    ms_tensor grad;                     /* of the output */
    ms_tensor query, key, value;        /* gradients so far, in fp32 */
    ms_tensor own_key, own_value;       /* contiguous; later views of what was gathered */
    ms_tensor sent, gathered;           /* keys and values */
    ms_tensor part[3];                  /* the last call's gradients */
    ms_tensor half_lse;                 /* of the second half of the queries */
    ms_tensor sent_grads, passed_grads; /* gradients of keys and values, joined */
} ring_state;

static void ring_backward_replace(ms_tape *tape, ms_tensor *slot, ms_tensor tensor)
{
    ms_retain(tape, tensor);
    ms_release(tape, *slot);
    *slot = tensor;
}

static ms_tensor view_as(ms_tape *tape, ms_tensor base, ms_tensor like)
{
    const ms_shape shape = ms_info(tape, like)->shape;
    uint64_t strides[MS_MAX_RANK];
    uint64_t step = 1;
    for (uint32_t i = shape.rank; i-- > 0;) {
        strides[i] = step;
        step *= shape.dims[i].value;
    }
    return ms_alias(tape, base, shape, strides);
}

static void begin(ring_state *s)
{
    ms_tape *tape = s->tape;
    const ms_tensor *saved = s->node->saved;
    ring_backward_replace(tape, &s->query, ms_empty_like(tape, saved[MS_RING_Q], MS_DTYPE_F32));
    ring_backward_replace(tape, &s->key, ms_empty_like(tape, saved[MS_RING_K], MS_DTYPE_F32));
    ring_backward_replace(tape, &s->value, ms_empty_like(tape, saved[MS_RING_V], MS_DTYPE_F32));
    ring_backward_replace(tape, &s->own_key, ring_contiguous(tape, saved[MS_RING_K]));
    ring_backward_replace(tape, &s->own_value, ring_contiguous(tape, saved[MS_RING_V]));
}

/* Keys and values of step `i`; all but the last are joined to be sent, though only the first are.
 */
static void take_keys(ring_state *s, uint64_t i)
{
    ms_tape *tape = s->tape;
    ms_tensor k = s->node->saved[MS_RING_K];
    if (i + 1 < s->ring->ranks)
        ring_backward_replace(tape, &s->sent,
                              ring_pair(tape, k, 1, (ms_dtype)ms_info(tape, k)->dtype));
    if (i == 0) {
        ring_backward_replace(tape, &s->gathered, ring_gather(tape, k));
        return;
    }
    if (i > s->ring->rank) {
        ms_tensor half = ring_half(tape, s->node->saved[MS_RING_LSE]);
        ms_tensor copy = ms_empty(tape, ms_info(tape, half)->shape, MS_DTYPE_F32);
        ms_consume(tape, half);
        ms_retain(tape, copy);
        ring_backward_replace(tape, &s->own_key, view_as(tape, s->gathered, k));
        ring_backward_replace(tape, &s->own_value, view_as(tape, s->gathered, k));
        ms_release(tape, s->half_lse);
        s->half_lse = copy;
        return;
    }
    ring_backward_replace(tape, &s->own_key, view_as(tape, s->gathered, k));
    ring_backward_replace(tape, &s->own_value, view_as(tape, s->gathered, k));
}

static void differentiate(ring_state *s, uint64_t i)
{
    ms_tape *tape = s->tape;
    const ms_tensor *saved = s->node->saved;
    ms_flash_saved call = {saved[MS_RING_Q], s->own_key, s->own_value, saved[MS_RING_OUT]};
    ms_tensor grad = s->grad, part[3] = {0}, views[3] = {0};
    if (i > s->ring->rank) {
        views[0] = call.q = ring_half(tape, call.q);
        views[1] = call.out = ring_half(tape, call.out);
        views[2] = grad = ring_half(tape, grad);
    } else if (i > 0) {
        views[0] = call.k = ring_half(tape, call.k);
        views[1] = call.v = ring_half(tape, call.v);
    }
    ms_flash_gradients(tape, &call, grad, i > 0, part);
    for (uint32_t k = 0; k < 3; k++)
        ms_retain(tape, part[k]);
    for (uint32_t k = 0; k < 3; k++) {
        ms_consume(tape, views[k]);
        ms_release(tape, s->part[k]);
        s->part[k] = part[k];
    }
}

static ms_tensor ring_backward_joined(ms_tape *tape, ms_tensor tensor)
{
    return ms_empty(tape, ms_info(tape, tensor)->shape, MS_DTYPE_F32);
}

/* What the rank before passed on becomes the gradients so far; those of half the keys are added to
 * a part, and the parts are joined. */
static void add_gradients(ring_state *s, uint64_t i)
{
    ms_tape *tape = s->tape;
    if (i == 0)
        return;
    ms_tensor k = s->node->saved[MS_RING_K];
    ring_backward_replace(tape, &s->sent_grads, 0);
    ring_backward_replace(tape, &s->key, view_as(tape, s->passed_grads, k));
    ring_backward_replace(tape, &s->value, view_as(tape, s->passed_grads, k));
    if (i > s->ring->rank)
        return;
    ring_backward_replace(tape, &s->key, ring_backward_joined(tape, k));
    ring_backward_replace(tape, &s->value, ring_backward_joined(tape, k));
}

static void pass_on(ring_state *s)
{
    ms_tape *tape = s->tape;
    ms_tensor key = ring_contiguous(tape, s->key), value = ring_contiguous(tape, s->value);
    ring_backward_replace(tape, &s->sent_grads, ring_pair(tape, s->key, 1, MS_DTYPE_F32));
    ms_consume(tape, value);
    ms_consume(tape, key);
    ring_backward_replace(tape, &s->passed_grads, ring_pair(tape, s->key, 1, MS_DTYPE_F32));
    ring_enqueue(tape, MS_WORK_SEND, ms_tensor_bytes(tape, s->passed_grads));
}

static void finish(ring_state *s, ms_tensor *out)
{
    ms_tape *tape = s->tape;
    ms_tensor k = s->node->saved[MS_RING_K];
    ms_dtype dtype = (ms_dtype)ms_info(tape, k)->dtype;
    out[0] = ms_empty_like(tape, s->query, dtype);
    ring_backward_replace(tape, &s->query, 0);
    ms_tensor both = ring_pair(tape, k, 1, dtype);
    out[1] = view_as(tape, both, k);
    out[2] = view_as(tape, both, k);
    ms_consume(tape, both);
    const ms_tensor last[] = {s->sent_grads, s->key,       s->value,    s->sent,
                              s->part[0],    s->part[1],   s->part[2],  s->passed_grads,
                              s->own_key,    s->own_value, s->gathered, s->half_lse};
    for (size_t i = 0; i < sizeof last / sizeof *last; i++)
        ms_release(tape, last[i]);
}

/* The backward of ms_ring_attention: a node's function. */
static void ring_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    ring_state s = {.tape = tape, .ring = ring_of(tape), .node = node, .grad = grads[0]};
    begin(&s);
    for (uint64_t i = 0; i < s.ring->ranks && !ms_idle(tape); i++) {
        take_keys(&s, i);
        differentiate(&s, i);
        add_gradients(&s, i);
        pass_on(&s);
        if (i > s.ring->rank)
            ring_backward_replace(tape, &s.query, ring_backward_joined(tape, s.query));
    }
    if (!ms_idle(tape))
        finish(&s, out);
}

/* ---- merging ---- */

typedef struct merger {
    ms_tensor out, lse; /* retained, in fp32 */
} merger;

static ms_tensor like(ms_tape *tape, ms_tensor tensor, ms_dtype dtype)
{
    return ms_empty_like(tape, tensor, dtype);
}

static void replace(ms_tape *tape, ms_tensor *slot, ms_tensor tensor)
{
    ms_retain(tape, tensor);
    ms_release(tape, *slot);
    *slot = tensor;
}

/* out - sigmoid(lse - block's) * (out - block's), of all or of the second half. */
static ms_tensor merged_out(ms_tape *tape, ms_tensor out, ms_tensor lse)
{
    ms_tensor difference = like(tape, lse, MS_DTYPE_F32);
    ms_tensor weight = like(tape, lse, MS_DTYPE_F32);
    ms_consume(tape, difference);
    ms_tensor change = like(tape, out, MS_DTYPE_F32);
    ms_tensor product = like(tape, out, MS_DTYPE_F32);
    ms_consume(tape, weight);
    ms_consume(tape, change);
    ms_tensor sum = like(tape, out, MS_DTYPE_F32);
    ms_consume(tape, product);
    return sum;
}

static ms_tensor merged_lse(ms_tape *tape, ms_tensor lse)
{
    ms_tensor difference = like(tape, lse, MS_DTYPE_F32);
    ms_tensor logarithm = like(tape, lse, MS_DTYPE_F32);
    ms_consume(tape, difference);
    ms_tensor sum = like(tape, lse, MS_DTYPE_F32);
    ms_consume(tape, logarithm);
    return sum;
}

static ms_tensor joined(ms_tape *tape, ms_tensor tensor)
{
    return ms_empty(tape, ms_info(tape, tensor)->shape, MS_DTYPE_F32);
}

static void merge(ms_tape *tape, merger *m, const ms_flash_result *block, bool is_half)
{
    ms_tensor wide = like(tape, block->out, MS_DTYPE_F32);
    ms_retain(tape, wide);
    if (!m->out) {
        m->out = wide;
        replace(tape, &m->lse, block->lse);
        return;
    }
    ms_tensor out = merged_out(tape, wide, block->lse);
    ms_retain(tape, out);
    ms_tensor lse = merged_lse(tape, block->lse);
    ms_retain(tape, lse);
    replace(tape, &m->lse, is_half ? joined(tape, m->lse) : lse);
    replace(tape, &m->out, is_half ? joined(tape, m->out) : out);
    ms_release(tape, lse);
    ms_release(tape, out);
    ms_release(tape, wide);
}

/* ---- the ring ---- */

static void keep(ms_tape *tape, ms_flash_result *held, ms_flash_result block)
{
    replace(tape, &held->out, block.out);
    replace(tape, &held->lse, block.lse);
    ms_retain(tape, block.state[0]);
    replace(tape, &held->state[1], block.state[1]);
    ms_release(tape, held->state[0]);
    held->state[0] = block.state[0];
}

/* Keys and values of this rank as they are sent, and what all ranks have sent. */
typedef struct exchange {
    ms_tensor key, value, sent, gathered;
} exchange;

static exchange send(ms_tape *tape, ms_tensor k, ms_tensor v)
{
    exchange e = {.key = ring_contiguous(tape, k)};
    ms_retain(tape, e.key);
    e.value = ring_contiguous(tape, v);
    ms_retain(tape, e.value);
    e.sent = ring_pair(tape, k, 1, (ms_dtype)ms_info(tape, k)->dtype);
    ms_retain(tape, e.sent);
    e.gathered = ring_gather(tape, k);
    ms_retain(tape, e.gathered);
    return e;
}

/* Step `i`: of an earlier rank the first half of the keys is seen, of a later one all keys by the
 * second half of the queries. */
static void attend(ms_tape *tape, const ms_ring *ring, uint64_t i, ms_tensor q, exchange *e,
                   ms_flash_result *held)
{
    if (i == 1)
        replace(tape, &e->sent, 0);
    if (i > 0 && i < ring->ranks - 1) /* joined to be sent, but all have been gathered */
        ms_consume(tape, ring_pair(tape, e->key, 1, (ms_dtype)ms_info(tape, e->key)->dtype));
    const ms_tensor_info info = *ms_info(tape, e->key);
    if (i > 0) {
        ms_tensor view = ms_alias(tape, e->gathered, info.shape, info.strides);
        replace(tape, &e->key, view);
        replace(tape, &e->value, view);
    }
    ms_tensor query = q, key = e->key, value = e->value;
    bool is_half = i > ring->rank;
    if (is_half)
        query = ring_half(tape, q);
    else if (i > 0)
        key = value = ring_half(tape, e->key);
    keep(tape, held, ms_flash_call(tape, query, key, value, i > 0));
    if (query != q)
        ms_consume(tape, query);
    if (key != e->key)
        ms_consume(tape, key);
}

/* The output, retained; held->lse and held->state are those to save. */
static ms_tensor forward(ms_tape *tape, ms_tensor q, ms_tensor k, ms_tensor v,
                         ms_flash_result *held)
{
    const ms_ring *ring = ring_of(tape);
    exchange e = send(tape, k, v);
    merger m = {0};
    for (uint64_t i = 0; i < ring->ranks && !ms_idle(tape); i++) {
        attend(tape, ring, i, q, &e, held);
        merge(tape, &m, held, i > ring->rank);
    }
    ms_tensor out = like(tape, m.out, (ms_dtype)ms_info(tape, q)->dtype);
    ms_retain(tape, out);
    ms_release(tape, m.out);
    ms_release(tape, e.key);
    ms_release(tape, e.value);
    ms_release(tape, e.sent);
    ms_release(tape, e.gathered);
    ms_release(tape, held->out);
    ms_release(tape, held->lse);
    held->out = 0;
    held->lse = m.lse;
    return out;
}

static const ms_op ring_op = {"ring_attention", "ScaledDotProductFlashAttentionBackward0",
                              ring_backward};

ms_tensor ms_ring_attention(ms_tape *tape, ms_tensor q, ms_tensor k, ms_tensor v)
{
    if (ms_idle(tape) || !q || !k || !v)
        return 0;
    ms_op_mark work = ms_op_begin(tape, &ring_op);
    uint32_t node = ms_record(tape, &ring_op, 3, (ms_tensor[]){q, k, v});
    ms_save(tape, node, k);
    ms_save(tape, node, q);
    ms_save(tape, node, v);
    ms_flash_result held = {0};
    ms_tensor out = ms_idle(tape) ? 0 : forward(tape, q, k, v, &held);
    if (out) {
        ms_tensor floating = ms_unown(tape, out);
        ms_attach(tape, node, 1, &floating);
        ms_save(tape, node, held.lse);
        ms_save(tape, node, floating);
        ms_save(tape, node, held.state[0]);
        ms_save(tape, node, held.state[1]);
        ms_op_operand(tape, work, q, false);
        ms_op_operand(tape, work, k, false);
        ms_op_operand(tape, work, v, false);
        ms_op_operand(tape, work, floating, true);
    }
    ms_op_end(tape, work);
    ms_release(tape, held.lse);
    ms_release(tape, held.state[0]);
    ms_release(tape, held.state[1]);
    if (tape->stopped && out) {
        ms_consume(tape, out);
        return 0;
    }
    return out;
}
