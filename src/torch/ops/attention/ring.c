/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Ring attention, forward. The order in which tensors come and go is that of the local variables
 * of PyTorch's functions.
 */
#include "torch/ops/attention/ring.h"

#include "torch/ops/attention/attention.h"
#include "torch/ops/attention/ring_backward.h"
#include "torch/ops/attention/ring_parts.h"

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
    exchange e = {.key = ms_ring_contiguous(tape, k)};
    ms_retain(tape, e.key);
    e.value = ms_ring_contiguous(tape, v);
    ms_retain(tape, e.value);
    e.sent = ms_ring_pair(tape, k, 1, (ms_dtype)ms_info(tape, k)->dtype);
    ms_retain(tape, e.sent);
    e.gathered = ms_ring_gather(tape, k);
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
        ms_consume(tape, ms_ring_pair(tape, e->key, 1, (ms_dtype)ms_info(tape, e->key)->dtype));
    const ms_tensor_info info = *ms_info(tape, e->key);
    if (i > 0) {
        ms_tensor view = ms_alias(tape, e->gathered, info.shape, info.strides);
        replace(tape, &e->key, view);
        replace(tape, &e->value, view);
    }
    ms_tensor query = q, key = e->key, value = e->value;
    bool is_half = i > ring->rank;
    if (is_half)
        query = ms_ring_half(tape, q);
    else if (i > 0)
        key = value = ms_ring_half(tape, e->key);
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
    const ms_ring *ring = ms_ring_of(tape);
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
                              ms_ring_backward};

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
