/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Ring attention, backward: keys and values are gathered again; their gradients, in fp32, go from
 * rank to rank and are added to on the way.
 */
#include "torch/ops/attention/ring_backward.h"

#include "torch/ops/attention/attention.h"
#include "torch/ops/attention/ring_parts.h"
#include "core/trace/build.h"

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

static void replace(ms_tape *tape, ms_tensor *slot, ms_tensor tensor)
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
    replace(tape, &s->query, ms_empty_like(tape, saved[MS_RING_Q], MS_DTYPE_F32));
    replace(tape, &s->key, ms_empty_like(tape, saved[MS_RING_K], MS_DTYPE_F32));
    replace(tape, &s->value, ms_empty_like(tape, saved[MS_RING_V], MS_DTYPE_F32));
    replace(tape, &s->own_key, ms_ring_contiguous(tape, saved[MS_RING_K]));
    replace(tape, &s->own_value, ms_ring_contiguous(tape, saved[MS_RING_V]));
}

/* Keys and values of step `i`; all but the last are joined to be sent, though only the first are.
 */
static void take_keys(ring_state *s, uint64_t i)
{
    ms_tape *tape = s->tape;
    ms_tensor k = s->node->saved[MS_RING_K];
    if (i + 1 < s->ring->ranks)
        replace(tape, &s->sent, ms_ring_pair(tape, k, 1, (ms_dtype)ms_info(tape, k)->dtype));
    if (i == 0) {
        replace(tape, &s->gathered, ms_ring_gather(tape, k));
        return;
    }
    if (i > s->ring->rank) {
        ms_tensor half = ms_ring_half(tape, s->node->saved[MS_RING_LSE]);
        ms_tensor copy = ms_empty(tape, ms_info(tape, half)->shape, MS_DTYPE_F32);
        ms_consume(tape, half);
        ms_retain(tape, copy);
        replace(tape, &s->own_key, view_as(tape, s->gathered, k));
        replace(tape, &s->own_value, view_as(tape, s->gathered, k));
        ms_release(tape, s->half_lse);
        s->half_lse = copy;
        return;
    }
    replace(tape, &s->own_key, view_as(tape, s->gathered, k));
    replace(tape, &s->own_value, view_as(tape, s->gathered, k));
}

static void differentiate(ring_state *s, uint64_t i)
{
    ms_tape *tape = s->tape;
    const ms_tensor *saved = s->node->saved;
    ms_flash_saved call = {saved[MS_RING_Q], s->own_key, s->own_value, saved[MS_RING_OUT]};
    ms_tensor grad = s->grad, part[3] = {0}, views[3] = {0};
    if (i > s->ring->rank) {
        views[0] = call.q = ms_ring_half(tape, call.q);
        views[1] = call.out = ms_ring_half(tape, call.out);
        views[2] = grad = ms_ring_half(tape, grad);
    } else if (i > 0) {
        views[0] = call.k = ms_ring_half(tape, call.k);
        views[1] = call.v = ms_ring_half(tape, call.v);
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

static ms_tensor joined(ms_tape *tape, ms_tensor tensor)
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
    replace(tape, &s->sent_grads, 0);
    replace(tape, &s->key, view_as(tape, s->passed_grads, k));
    replace(tape, &s->value, view_as(tape, s->passed_grads, k));
    if (i > s->ring->rank)
        return;
    replace(tape, &s->key, joined(tape, k));
    replace(tape, &s->value, joined(tape, k));
}

static void pass_on(ring_state *s)
{
    ms_tape *tape = s->tape;
    ms_tensor key = ms_ring_contiguous(tape, s->key), value = ms_ring_contiguous(tape, s->value);
    replace(tape, &s->sent_grads, ms_ring_pair(tape, s->key, 1, MS_DTYPE_F32));
    ms_consume(tape, value);
    ms_consume(tape, key);
    replace(tape, &s->passed_grads, ms_ring_pair(tape, s->key, 1, MS_DTYPE_F32));
    ms_ring_enqueue(tape, MS_WORK_SEND, ms_tensor_bytes(tape, s->passed_grads));
}

static void finish(ring_state *s, ms_tensor *out)
{
    ms_tape *tape = s->tape;
    ms_tensor k = s->node->saved[MS_RING_K];
    ms_dtype dtype = (ms_dtype)ms_info(tape, k)->dtype;
    out[0] = ms_empty_like(tape, s->query, dtype);
    replace(tape, &s->query, 0);
    ms_tensor both = ms_ring_pair(tape, k, 1, dtype);
    out[1] = view_as(tape, both, k);
    out[2] = view_as(tape, both, k);
    ms_consume(tape, both);
    const ms_tensor last[] = {s->sent_grads, s->key,       s->value,    s->sent,
                              s->part[0],    s->part[1],   s->part[2],  s->passed_grads,
                              s->own_key,    s->own_value, s->gathered, s->half_lse};
    for (size_t i = 0; i < sizeof last / sizeof *last; i++)
        ms_release(tape, last[i]);
}

void ms_ring_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    ring_state s = {.tape = tape, .ring = ms_ring_of(tape), .node = node, .grad = grads[0]};
    begin(&s);
    for (uint64_t i = 0; i < s.ring->ranks && !ms_idle(tape); i++) {
        take_keys(&s, i);
        differentiate(&s, i);
        add_gradients(&s, i);
        pass_on(&s);
        if (i > s.ring->rank)
            replace(tape, &s.query, joined(tape, s.query));
    }
    if (!ms_idle(tape))
        finish(&s, out);
}
