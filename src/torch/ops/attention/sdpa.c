/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * scaled_dot_product_attention: dispatches a call to the back end's kernel or operators.
 */
#include "torch/ops/attention/attention.h"

#include "torch/ops/attention/attention_math.h"
#include "torch/ops/attention/cudnn.h"
#include "torch/ops/attention/ring.h"
#include "torch/ops/ops.h"

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
