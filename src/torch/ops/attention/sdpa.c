/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * scaled_dot_product_attention: dispatches a call to the back end's kernel or operators.
 */
#include "torch/ops/attention/sdpa.h"

#include "torch/ops/attention/attention_math.h"
#include "torch/ops/attention/ring.h"
#include "torch/ops/ops.h"

/* ---- cudnn ---- */

/* Of a call in either pass; what the kernels' own plan asks for. */
enum { PLAN_BYTES = 256, RANDOM_BYTES = 8 };

/* Slots, behind the bias where there is one. */
enum { SAVED_K, SAVED_Q, SAVED_V };

/* Numbers of the node: how many halves of the S*S products it does, and of biases that it saved. */
enum { HALVES, BIASES };

/* A tensor of this shape whose dimensions lie in the order of q's. */
static ms_tensor laid_out_as(ms_tape *tape, ms_tensor q, ms_shape shape, ms_dtype dtype)
{
    enum { LAST = 3 };
    const ms_tensor_info *info = ms_info(tape, q);
    if (shape.dims[LAST].value == info->shape.dims[LAST].value)
        return ms_empty_like(tape, q, dtype);
    uint64_t heads = shape.dims[1].value, seq = shape.dims[2].value, dim = shape.dims[LAST].value;
    const uint64_t by_heads[MS_MAX_RANK] = {heads * seq * dim, seq * dim, dim, 1};
    const uint64_t by_tokens[MS_MAX_RANK] = {heads * seq * dim, dim, heads * dim, 1};
    return ms_empty_strided(tape, shape, info->strides[1] < info->strides[2] ? by_tokens : by_heads,
                            dtype);
}

/* dq in fp32, a sum of each query's row, and with grouped queries dk and dv of every query head. */
static uint64_t backward_bytes(const ms_attention_sizes *s, ms_dtype dtype)
{
    uint64_t heads = s->batch.value * s->heads.value;
    uint64_t bytes = 4 * heads * s->seq.value * (s->head_dim.value + 1) + PLAN_BYTES;
    if (s->heads.value != s->kv_heads.value)
        bytes += ms_dtype_bytes(dtype) * heads * s->keys.value *
                 (s->head_dim.value + s->value_dim.value);
    return bytes;
}

/* A gradient whose rows are not contiguous is copied. */
static ms_tensor gradient_copy(ms_tape *tape, ms_tensor grad)
{
    const ms_tensor_info info = *ms_info(tape, grad);
    return info.strides[3] == 1 || info.shape.dims[3].value == 1
               ? 0
               : ms_empty(tape, info.shape, (ms_dtype)info.dtype);
}

static void backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    const ms_tensor *saved = node->saved + node->numbers[BIASES];
    const ms_tensor q = saved[SAVED_Q], k = saved[SAVED_K], v = saved[SAVED_V];
    const ms_attention_sizes s = ms_attention_sizes_of(
        &ms_info(tape, q)->shape, &ms_info(tape, k)->shape, &ms_info(tape, v)->shape);
    ms_dtype dtype = (ms_dtype)ms_info(tape, grads[0])->dtype;
    out[0] = ms_empty_like(tape, q, dtype);
    out[1] = ms_empty_like(tape, k, dtype);
    out[2] = ms_empty_like(tape, v, dtype);
    ms_tensor copy = gradient_copy(tape, grads[0]);
    ms_consume(tape, ms_empty_bytes(tape, backward_bytes(&s, dtype), MS_DTYPE_U8));
    ms_consume(tape, copy);
    ms_attention_work(tape, ms_op_running(tape), &s, 5 * (double)node->numbers[HALVES], dtype);
    for (uint32_t i = 0; i < 3; i++)
        if (out[i])
            ms_info(tape, out[i])->is_view = true;
}

static const ms_op op = {"cudnn_attention", "ScaledDotProductCudnnAttentionBackward0", backward};

ms_tensor ms_cudnn_attention(ms_tape *tape, ms_tensor q, ms_tensor k, ms_tensor v,
                             ms_attention_call_args c)
{
    ms_op_mark work = ms_op_begin(tape, &op);
    if (c.dropout > 0)
        ms_op_draws(tape, work);
    ms_tensor bias = c.mask && !ms_idle(tape) ? ms_mask_as_bias(tape, q, c.mask) : 0;
    uint32_t node = ms_record(tape, &op, 3, (ms_tensor[]){q, k, v});
    ms_node_numbers(tape, node, 2, (uint64_t[]){c.both_ways ? 2 : 1, bias ? 1 : 0});
    ms_save(tape, node, bias);
    ms_save(tape, node, k);
    ms_save(tape, node, q);
    ms_save(tape, node, v);
    if (ms_idle(tape)) {
        ms_op_end(tape, work);
        ms_consume(tape, bias);
        return 0;
    }
    ms_shape shape = ms_info(tape, q)->shape;
    const ms_attention_sizes s =
        ms_attention_sizes_of(&shape, &ms_info(tape, k)->shape, &ms_info(tape, v)->shape);
    shape.dims[3] = s.value_dim;
    ms_dtype dtype = (ms_dtype)ms_info(tape, q)->dtype;
    ms_tensor seed = ms_empty_bytes(tape, RANDOM_BYTES, MS_DTYPE_U64);
    ms_tensor offset = ms_empty_bytes(tape, RANDOM_BYTES, MS_DTYPE_U64);
    ms_tensor out = laid_out_as(tape, q, shape, dtype);
    ms_tensor lse =
        tape->grad_enabled ? ms_empty(tape, MS_SHAPE(s.batch, s.heads, s.seq), MS_DTYPE_F32) : 0;
    ms_consume(tape, ms_empty_bytes(tape, PLAN_BYTES, MS_DTYPE_U8));
    ms_attach(tape, node, 1, &out);
    ms_save(tape, node, lse);
    ms_save(tape, node, out);
    ms_save(tape, node, offset);
    ms_save(tape, node, seed);
    ms_op_operand(tape, work, q, false);
    ms_op_operand(tape, work, k, false);
    ms_op_operand(tape, work, v, false);
    ms_op_operand(tape, work, out, true);
    ms_attention_work(tape, work, &s, c.both_ways ? 4 : 2, dtype);
    ms_op_end(tape, work);
    ms_consume(tape, lse);
    ms_consume(tape, offset);
    ms_consume(tape, seed);
    ms_consume(tape, bias);
    if (tape->stopped) {
        ms_consume(tape, out);
        return 0;
    }
    return out;
}

/* ---- sdpa ---- */

/* Flash attention takes heads of a multiple of 8: others are padded, and the output cut. */
static ms_tensor run_flash(ms_tape *tape, ms_tensor q, ms_tensor k, ms_tensor v,
                           ms_attention_call_args c)
{
    enum { HEAD_MULTIPLE = 8 };
    if (ms_idle(tape))
        return 0;
    if (ms_ring_is_there(tape))
        return ms_ring_attention(tape, q, k, v);
    ms_dim head_dim = ms_info(tape, q)->shape.dims[3];
    if (head_dim.value % HEAD_MULTIPLE == 0)
        return ms_attention_kernel(tape, MS_ATTENTION_FLASH, q, k, v, c);
    ms_dim wide = ms_dim_ceil(&tape->trace->symbols, head_dim, HEAD_MULTIPLE);
    ms_locals frame = ms_locals_begin(tape);
    ms_tensor *query = ms_local(&frame, ms_pad(tape, q, 3, wide));
    ms_tensor *key = ms_local(&frame, ms_pad(tape, k, 3, wide));
    ms_tensor *value = ms_local(&frame, ms_pad(tape, v, 3, wide));
    ms_tensor *out =
        ms_local(&frame, ms_attention_kernel(tape, MS_ATTENTION_FLASH, *query, *key, *value, c));
    ms_assign(&frame, value, 0);
    ms_assign(&frame, key, 0);
    ms_assign(&frame, query, 0);
    ms_assign(&frame, out, ms_narrow(tape, *out, 3, head_dim));
    return ms_locals_end(&frame, out);
}

static ms_tensor run_math(ms_tape *tape, ms_tensor q, ms_tensor k, ms_tensor v,
                          ms_attention_call_args c)
{
    ms_tensor additive = c.mask ? ms_mask_as_bias(tape, q, c.mask) : 0;
    ms_retain(tape, additive);
    ms_tensor out = ms_attention_math(tape, q, k, v, additive, !c.both_ways, c.dropout);
    ms_release(tape, additive);
    return out;
}

/* A single query of a single key goes to the next back end in PyTorch's order. */
static ms_tensor run_cudnn(ms_tape *tape, ms_tensor q, ms_tensor k, ms_tensor v,
                           ms_attention_call_args c)
{
    if (ms_idle(tape) || ms_info(tape, q)->shape.dims[2].value > 1 ||
        ms_info(tape, k)->shape.dims[2].value > 1)
        return ms_cudnn_attention(tape, q, k, v, c);
    bool is_even = ms_info(tape, q)->shape.dims[3].value == ms_info(tape, v)->shape.dims[3].value;
    return c.mask || !is_even ? ms_attention_kernel(tape, MS_ATTENTION_EFFICIENT, q, k, v, c)
                              : run_flash(tape, q, k, v, c);
}

static ms_tensor run_backend(ms_tape *tape, ms_attention backend, ms_tensor q, ms_tensor k,
                             ms_tensor v, ms_attention_call_args c)
{
    if (backend == MS_ATTENTION_CUDNN)
        return run_cudnn(tape, q, k, v, c);
    if (backend == MS_ATTENTION_MATH)
        return run_math(tape, q, k, v, c);
    if (backend == MS_ATTENTION_FLASH)
        return run_flash(tape, q, k, v, c);
    return ms_attention_kernel(tape, backend, q, k, v, c);
}

static ms_tensor sdpa(ms_tape *tape, ms_attention backend, ms_tensor q, ms_tensor k, ms_tensor v,
                      ms_attention_call_args c)
{
    ms_retain(tape, q);
    ms_retain(tape, k);
    ms_retain(tape, v);
    ms_locals frame = ms_locals_begin(tape);
    ms_tensor *bias = ms_local(&frame, ms_autocast_lower(tape, c.mask));
    ms_tensor *value = ms_local(&frame, ms_autocast_lower(tape, v));
    ms_tensor *key = ms_local(&frame, ms_autocast_lower(tape, k));
    ms_tensor *query = ms_local(&frame, ms_autocast_lower(tape, q));
    c.mask = *bias;
    c.dropout = tape->is_evaluating ? 0 : c.dropout;
    bool autocast = tape->has_autocast;
    tape->has_autocast = false; /* inside the call, operators run in the dtypes they are given */
    ms_tensor out = run_backend(tape, backend, *query, *key, *value, c);
    tape->has_autocast = autocast;
    ms_assign(&frame, query, 0); /* casts go in the reverse of the order they came in */
    ms_assign(&frame, key, 0);
    ms_locals_end(&frame, NULL);
    ms_consume(tape, ms_unown(tape, q));
    ms_consume(tape, ms_unown(tape, k));
    ms_consume(tape, ms_unown(tape, v));
    return out;
}

ms_tensor ms_sdpa(ms_tape *tape, ms_attention backend, ms_tensor q, ms_tensor k, ms_tensor v,
                  ms_tensor mask, double dropout)
{
    return sdpa(tape, backend, q, k, v, (ms_attention_call_args){.mask = mask, .dropout = dropout});
}

ms_tensor ms_sdpa_both_ways(ms_tape *tape, ms_attention backend, ms_tensor q, ms_tensor k,
                            ms_tensor v, double dropout)
{
    return sdpa(tape, backend, q, k, v,
                (ms_attention_call_args){.dropout = dropout, .both_ways = true});
}
