/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "torch/ops/liger/liger_loss.h"

#include "torch/ops/liger/liger.h"

static ms_dtype dtype_of(ms_tape *tape, ms_tensor a)
{
    return (ms_dtype)ms_info(tape, a)->dtype;
}

/* torch.equal(grad, torch.tensor(1.0)): then gradients are handed out as they are. */
static void compare_with_one(ms_tape *tape, ms_tensor grad)
{
    ms_tensor one = ms_empty_bytes(tape, 4, dtype_of(tape, grad));
    ms_tensor equal = ms_empty_bytes(tape, 1, MS_DTYPE_BOOL);
    ms_transient(tape, 1, MS_DTYPE_BOOL);
    ms_consume(tape, equal);
    ms_consume(tape, one);
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

/* ---- head and loss in one ---- */

enum { LOSS_HIDDEN, LOSS_WEIGHT };

static void loss_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    compare_with_one(tape, grads[0]);
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

/* Tokens whose logits take about `share` times as much as the hidden states of all. */
static uint64_t chunk_tokens(uint64_t tokens, uint64_t hidden, uint64_t vocab, uint64_t share)
{
    uint64_t wanted = divided_up(tokens, divided_up(vocab, share * hidden)), power = 1;
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
    return tape->options.device->compute_capability >= AMPERE && is_half &&
           (weight == h->compute || tape->options.torch_minor >= FIRST_MINOR);
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

ms_tensor ms_liger_loss(ms_tape *tape, ms_tensor hidden, ms_tensor weight, uint64_t share)
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
    h.chunk = chunk_tokens(h.tokens, shape.dims[1].value, h.vocab.value, share);
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

/* ---- the loss of logits: their gradient is written over them ---- */

static void cross_entropy_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads,
                                   ms_tensor *out)
{
    compare_with_one(tape, grads[0]);
    out[0] = node->saved[0];
}

static const ms_op cross_entropy_op = {"liger_cross_entropy", "LigerCrossEntropyFunctionBackward",
                                       cross_entropy_backward};

/* assert (labels * mask).max() < V, and likewise for the least */
static void check_labels(ms_tape *tape, ms_dim tokens)
{
    for (int i = 0; i < 2; i++) {
        ms_tensor products = ms_empty(tape, MS_SHAPE(tokens), MS_DTYPE_I64);
        ms_tensor extreme = ms_empty_bytes(tape, 8, MS_DTYPE_I64);
        ms_consume(tape, products);
        ms_transient(tape, 1, MS_DTYPE_BOOL);
        ms_consume(tape, extreme);
    }
}

ms_tensor ms_liger_cross_entropy(ms_tape *tape, ms_tensor logits)
{
    if (ms_idle(tape) || !logits)
        return 0;
    ms_op_mark mark = ms_op_begin(tape, &cross_entropy_op);
    uint32_t node = ms_record(tape, &cross_entropy_op, 1, &logits);
    ms_dim tokens = ms_info(tape, logits)->shape.dims[0];
    ms_tensor losses = ms_empty(tape, MS_SHAPE(tokens), dtype_of(tape, logits));
    ms_tensor labelled = count_labels(tape, tokens);
    check_labels(tape, tokens);
    ms_tensor loss = ms_empty(tape, (ms_shape){.rank = 0}, dtype_of(tape, logits));
    ms_save(tape, node, logits);
    ms_consume(tape, labelled);
    ms_consume(tape, losses);
    return ms_op_finish(tape, mark, node, 1, &logits, loss);
}
