/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Liger's kernels (liger-kernel 0.8): norm, gate and rotary embedding in one kernel each, of which
 * the last two, and the norm's backward, write over what they are given; and the head with its
 * loss, which computes both gradients in forward, piece by piece, and makes no logits of all
 * tokens.
 */
#include "ops/liger.h"

#include "tape/cuda_reduce.h"

static ms_dtype dtype_of(ms_tape *tape, ms_tensor a)
{
    return (ms_dtype)ms_info(tape, a)->dtype;
}

/* What an operator that writes over a tensor yields: a view of it. */
static ms_tensor overwritten(ms_tape *tape, ms_tensor a)
{
    if (ms_idle(tape) || !a)
        return 0;
    const ms_tensor_info info = *ms_info(tape, a);
    return ms_alias(tape, a, info.shape, info.strides);
}

static ms_tensor contiguous_copy(ms_tape *tape, ms_tensor a)
{
    const ms_tensor_info *info = ms_info(tape, a);
    return ms_is_contiguous(info) ? 0 : ms_empty(tape, info->shape, (ms_dtype)info->dtype);
}

/* ---- RMS norm: the gradient is written over the one that came in ---- */

enum { NORM_X, NORM_WEIGHT };

/* One row of the weight's gradient for each multiprocessor, in fp32; then their sum. */
static ms_tensor norm_weight_gradient(ms_tape *tape, const ms_meta *weight)
{
    ms_symbols *s = &tape->trace->symbols;
    uint64_t rows = tape->run->device->multiprocessors;
    ms_shape parts_shape = MS_SHAPE(ms_dim_number(s, rows), weight->shape.dims[0]);
    ms_tensor parts = ms_empty(tape, parts_shape, MS_DTYPE_F32);
    ms_tensor sum = ms_empty(tape, weight->shape, MS_DTYPE_F32);
    ms_reduce_buffers buffers =
        ms_cuda_reduce_buffers(tape->run->device, weight->shape.dims[0].value, rows, false);
    ms_tensor partial =
        buffers.partial_bytes ? ms_empty_bytes(tape, buffers.partial_bytes, MS_DTYPE_U8) : 0;
    ms_transient(tape, buffers.semaphore_bytes, MS_DTYPE_I32);
    ms_consume(tape, partial);
    ms_tensor out = sum;
    if (weight->dtype != MS_DTYPE_F32 && !ms_idle(tape)) {
        out = ms_empty(tape, weight->shape, (ms_dtype)weight->dtype);
        ms_consume(tape, sum);
    }
    ms_consume(tape, parts);
    return out;
}

static void norm_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    ms_tensor copy = contiguous_copy(tape, grads[0]);
    if (ms_node_wants(node, NORM_WEIGHT)) {
        const ms_meta weight = *ms_input_meta(tape, node, NORM_WEIGHT);
        out[NORM_WEIGHT] = norm_weight_gradient(tape, &weight);
    }
    if (!ms_node_wants(node, NORM_X)) {
        ms_consume(tape, copy);
        return;
    }
    out[NORM_X] = overwritten(tape, copy ? copy : grads[0]);
    ms_consume(tape, copy);
}

static const ms_op norm_op = {"liger_rms_norm", "LigerRMSNormFunctionBackward", norm_backward};

ms_tensor ms_liger_rms_norm(ms_tape *tape, ms_tensor x, ms_tensor weight)
{
    if (ms_idle(tape) || !x) {
        ms_consume(tape, x);
        return 0;
    }
    ms_retain(tape, x);
    ms_tensor rows = ms_contiguous(tape, x);
    ms_op_mark mark = ms_op_begin(tape, &norm_op);
    ms_tensor inputs[] = {rows, weight};
    uint32_t node = ms_record(tape, &norm_op, 2, inputs);
    ms_shape shape = ms_info(tape, rows)->shape;
    ms_tensor out = ms_empty(tape, shape, dtype_of(tape, rows));
    shape.dims[shape.rank - 1] = (ms_dim){.value = 1};
    ms_tensor rstd = ms_empty(tape, shape, MS_DTYPE_F32);
    ms_save(tape, node, rows);
    ms_save(tape, node, rstd);
    ms_consume(tape, rstd);
    out = ms_op_finish(tape, mark, node, 2, inputs, out);
    ms_consume(tape, ms_unown(tape, x));
    return out;
}

/* ---- silu(gate) * up: both gradients are written over what was saved ---- */

static void swiglu_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    ms_consume(tape, contiguous_copy(tape, grads[0]));
    for (uint32_t i = 0; i < 2; i++)
        if (ms_node_wants(node, i))
            out[i] = overwritten(tape, node->saved[i]);
}

static const ms_op swiglu_op = {"liger_silu_mul", "LigerSiLUMulFunctionBackward", swiglu_backward};

ms_tensor ms_liger_swiglu(ms_tape *tape, ms_tensor gate, ms_tensor up)
{
    if (ms_idle(tape) || !gate || !up) {
        ms_consume(tape, gate);
        ms_consume(tape, up);
        return 0;
    }
    ms_op_mark mark = ms_op_begin(tape, &swiglu_op);
    ms_tensor inputs[] = {gate, up};
    uint32_t node = ms_record(tape, &swiglu_op, 2, inputs);
    ms_save(tape, node, gate);
    ms_save(tape, node, up);
    ms_tensor out = ms_empty(tape, ms_info(tape, gate)->shape, dtype_of(tape, gate));
    return ms_op_finish(tape, mark, node, 2, inputs, out);
}

/* ---- rotary embedding, in place both ways ---- */

/* Its kernel reads [B, S, heads, D]: what does not lie so is copied. Yields what it turned. */
static ms_tensor turned(ms_tape *tape, ms_tensor a)
{
    if (ms_idle(tape) || !a)
        return 0;
    ms_tensor_info info = *ms_info(tape, a);
    const uint64_t heads = info.shape.dims[1].value, width = info.shape.dims[3].value;
    const uint64_t length = info.shape.dims[2].value;
    const uint64_t strides[] = {heads * length * width, width, heads * width, 1};
    bool lies_so = true;
    for (uint32_t i = 0; i < 4; i++)
        lies_so = lies_so && (info.shape.dims[i].value == 1 || info.strides[i] == strides[i]);
    if (lies_so)
        return overwritten(tape, a);
    ms_tensor copy = ms_empty_strided(tape, info.shape, strides, (ms_dtype)info.dtype);
    ms_tensor view = overwritten(tape, copy);
    ms_consume(tape, copy);
    return view;
}

static void rope_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    for (uint32_t i = 0; i < 2; i++)
        if (ms_node_wants(node, i) && grads[i])
            out[i] = turned(tape, grads[i]);
}

static const ms_op rope_op = {"liger_rope", "LigerRopeFunctionBackward", rope_backward};

void ms_liger_rope(ms_tape *tape, ms_tensor q, ms_tensor k, ms_tensor cos, ms_tensor sin,
                   ms_tensor out[2])
{
    out[0] = out[1] = 0;
    if (ms_idle(tape) || !q || !k)
        return;
    ms_op_mark mark = ms_op_begin(tape, &rope_op);
    uint32_t node = ms_record(tape, &rope_op, 2, (ms_tensor[]){q, k});
    out[0] = turned(tape, q);
    out[1] = turned(tape, k);
    ms_save(tape, node, cos);
    ms_save(tape, node, sin);
    if (!ms_idle(tape))
        ms_attach(tape, node, 2, out);
    ms_op_operand(tape, mark, q, false);
    ms_op_operand(tape, mark, k, false);
    ms_op_end(tape, mark);
}

/* ---- head and loss ---- */

enum { LOSS_HIDDEN, LOSS_WEIGHT };

/* torch.equal(grad, torch.tensor(1.0)): then both gradients are handed out as they are. */
static void loss_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    ms_tensor one = ms_empty_bytes(tape, 4, dtype_of(tape, grads[0]));
    ms_tensor equal = ms_empty_bytes(tape, 1, MS_DTYPE_BOOL);
    ms_transient(tape, 1, MS_DTYPE_BOOL);
    ms_consume(tape, equal);
    ms_consume(tape, one);
    out[LOSS_HIDDEN] = node->saved[0];
    if (ms_node_wants(node, LOSS_WEIGHT))
        out[LOSS_WEIGHT] = node->saved[1];
}

static const ms_op loss_op = {"liger_fused_linear_cross_entropy",
                              "LigerFusedLinearCrossEntropyFunctionBackward", loss_backward};

static uint64_t divided_up(uint64_t a, uint64_t b)
{
    return (a + b - 1) / b;
}

/* Tokens whose logits take about as much as the hidden states of all. */
static uint64_t chunk_tokens(uint64_t tokens, uint64_t hidden, uint64_t vocab)
{
    uint64_t wanted = divided_up(tokens, divided_up(vocab, hidden)), power = 1;
    while (power < wanted)
        power *= 2;
    return power < tokens ? power : tokens;
}

typedef struct head {
    ms_tensor hidden, weight; /* [T, H] and [V, H] */
    ms_dim vocab;
    uint64_t tokens, chunk;
    ms_dtype compute;         /* of the products */
    bool has_gradients;       /* else there is a loss alone */
    bool has_weight_gradient; /* else it is frozen */
} head;

/* Whether the product with the hidden states is added into the weight's gradient at once. */
static bool adds_at_once(ms_tape *tape, const head *h)
{
    enum { AMPERE = 80, FIRST_MINOR = 8 };
    ms_dtype weight = dtype_of(tape, h->weight);
    bool is_half = h->compute == MS_DTYPE_BF16 || h->compute == MS_DTYPE_F16;
    return tape->run->device->compute_capability >= AMPERE && is_half &&
           (weight == h->compute || tape->run->torch_minor >= FIRST_MINOR);
}

/* The logits of one piece, in place of which their gradient is written; from it come the hidden
 * states' gradient and a part of the weight's. */
static void run_chunk(ms_tape *tape, const head *h, uint64_t tokens, bool has_buffer)
{
    ms_dtype stored = dtype_of(tape, h->hidden);
    ms_symbols *s = &tape->trace->symbols;
    ms_dim rows = ms_dim_number(s, tokens), width = ms_info(tape, h->hidden)->shape.dims[1];
    ms_tensor logits = 0;
    if (!has_buffer) {
        ms_tensor w = ms_empty(tape, ms_info(tape, h->weight)->shape, h->compute);
        ms_tensor x = ms_empty(tape, MS_SHAPE(rows, width), h->compute);
        logits = ms_empty(tape, MS_SHAPE(rows, h->vocab), h->compute);
        ms_workspace_use(tape, MS_PRODUCT_PLAIN);
        ms_consume(tape, x);
        ms_consume(tape, w);
        ms_tensor cast = h->has_gradients ? ms_autocast_lower(tape, h->weight) : 0;
        if (h->has_gradients)
            ms_transient(tape, tokens * width.value * ms_dtype_bytes(h->compute), h->compute);
        ms_consume(tape, cast);
    }
    ms_workspace_use(tape, MS_PRODUCT_PLAIN);
    if (h->has_weight_gradient && adds_at_once(tape, h)) {
        if (stored != h->compute)
            ms_transient(tape, tokens * width.value * ms_dtype_bytes(h->compute), h->compute);
    } else if (h->has_weight_gradient) {
        ms_tensor part = ms_empty(tape, ms_info(tape, h->weight)->shape, h->compute);
        if (h->compute != MS_DTYPE_F32) {
            ms_tensor wide = ms_empty(tape, ms_info(tape, h->weight)->shape, MS_DTYPE_F32);
            ms_consume(tape, part);
            part = wide;
        }
        ms_consume(tape, part);
    }
    ms_consume(tape, logits);
}

static void run_chunks(ms_tape *tape, const head *h)
{
    bool has_buffer = h->compute == dtype_of(tape, h->hidden);
    ms_dim rows = ms_dim_number(&tape->trace->symbols, h->chunk);
    ms_tensor buffer = has_buffer ? ms_empty(tape, MS_SHAPE(rows, h->vocab), h->compute) : 0;
    for (uint64_t first = 0; first < h->tokens && !ms_idle(tape); first += h->chunk)
        run_chunk(tape, h, first + h->chunk < h->tokens ? h->chunk : h->tokens - first, has_buffer);
    ms_consume(tape, buffer);
}

/* (labels != ignored).sum().item() */
static ms_tensor count_labels(ms_tape *tape, ms_dim tokens)
{
    ms_tensor mask = ms_empty(tape, MS_SHAPE(tokens), MS_DTYPE_BOOL);
    ms_tensor count = ms_empty_bytes(tape, 8, MS_DTYPE_I64);
    ms_transient(tape, 8 * tokens.value, MS_DTYPE_I64);
    ms_consume(tape, count);
    return mask;
}

ms_tensor ms_liger_loss(ms_tape *tape, ms_tensor hidden, ms_tensor weight)
{
    if (ms_idle(tape) || !hidden) {
        ms_consume(tape, hidden);
        return 0;
    }
    ms_op_mark mark = ms_op_begin(tape, &loss_op);
    ms_tensor inputs[] = {hidden, weight};
    uint32_t node = ms_record(tape, &loss_op, 2, inputs);
    const ms_shape shape = ms_info(tape, hidden)->shape;
    ms_dtype stored = dtype_of(tape, hidden);
    bool lowers = tape->has_autocast && stored == MS_DTYPE_F32;
    head h = {.hidden = hidden,
              .weight = weight,
              .vocab = ms_info(tape, weight)->shape.dims[0],
              .tokens = shape.dims[0].value,
              .compute = lowers ? (ms_dtype)tape->autocast_dtype : stored,
              .has_gradients = ms_needs_grad(tape, hidden),
              .has_weight_gradient = ms_needs_grad(tape, weight)};
    h.chunk = chunk_tokens(h.tokens, shape.dims[1].value, h.vocab.value);
    ms_tensor grad_hidden = ms_empty(tape, shape, stored);
    ms_tensor grad_weight =
        h.has_weight_gradient ? ms_empty(tape, ms_info(tape, weight)->shape, dtype_of(tape, weight))
                              : 0;
    ms_tensor losses = ms_empty(tape, MS_SHAPE(shape.dims[0]), MS_DTYPE_F32);
    ms_tensor labelled = count_labels(tape, shape.dims[0]);
    bool grad_enabled = tape->grad_enabled;
    tape->grad_enabled = false;
    run_chunks(tape, &h);
    tape->grad_enabled = grad_enabled;
    ms_tensor loss = ms_empty(tape, (ms_shape){.rank = 0}, MS_DTYPE_F32);
    ms_save(tape, node, grad_hidden);
    ms_save(tape, node, grad_weight);
    ms_consume(tape, grad_hidden);
    ms_consume(tape, grad_weight);
    ms_consume(tape, labelled);
    ms_consume(tape, losses);
    double products = 1.0 + h.has_gradients + h.has_weight_gradient;
    ms_op_work(tape, mark, products * 2 * (double)ms_elements(&shape) * (double)h.vocab.value, 0,
               h.compute);
    return ms_op_finish(tape, mark, node, 2, inputs, loss);
}
