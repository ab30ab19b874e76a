/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Liger's kernels (liger-kernel 0.8): norm, gate and rotary embedding in one kernel each. The last
 * two, and the backward of most norms, overwrite their inputs.
 */
#include "torch/ops/liger/liger.h"

#include "input/config/run/experts.h"
#include "torch/autograd/cuda_reduce.h"

/* ---- liger ---- */

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

/* ---- RMS norm: the gradient is written over the one that came in ---- */

enum { NORM_X, NORM_WEIGHT };

/* The sum of one row for each multiprocessor, in fp32. */
static ms_tensor norm_weight_gradient(ms_tape *tape, const ms_meta *weight)
{
    uint64_t rows = tape->options.device->multiprocessors;
    ms_tensor sum = ms_empty(tape, weight->shape, MS_DTYPE_F32);
    ms_reduce_buffers buffers =
        ms_cuda_reduce_buffers(tape->options.device, weight->shape.dims[0].value, rows, false);
    ms_tensor partial =
        buffers.partial_bytes ? ms_empty_bytes(tape, buffers.partial_bytes, MS_DTYPE_U8) : 0;
    ms_transient(tape, buffers.semaphore_bytes, MS_DTYPE_I32);
    ms_consume(tape, partial);
    if (weight->dtype == MS_DTYPE_F32 || ms_idle(tape))
        return sum;
    ms_tensor out = ms_empty(tape, weight->shape, (ms_dtype)weight->dtype);
    ms_consume(tape, sum);
    return out;
}

/* What the rows of the weight's gradient are summed up from. */
static ms_tensor norm_weight_parts(ms_tape *tape, const ms_meta *weight)
{
    ms_dim rows = ms_dim_number(&tape->trace->symbols, tape->options.device->multiprocessors);
    return ms_empty(tape, MS_SHAPE(rows, weight->shape.dims[0]), MS_DTYPE_F32);
}

static void run_norm_backward(ms_tape *tape, const ms_node *node, const ms_tensor *grads,
                              ms_tensor *out, bool copies)
{
    ms_tensor copy = ms_contiguous_copy(tape, grads[0]), incoming = copy ? copy : grads[0];
    const ms_meta weight = *ms_input_meta(tape, node, NORM_WEIGHT);
    bool has_weight = ms_node_wants(node, NORM_WEIGHT);
    ms_tensor parts = has_weight ? norm_weight_parts(tape, &weight) : 0;
    ms_tensor own = copies && !ms_idle(tape)
                        ? ms_empty(tape, ms_info(tape, incoming)->shape, dtype_of(tape, incoming))
                        : 0;
    ms_tensor grad = overwritten(tape, own ? own : incoming); /* a view, in either case */
    if (has_weight)
        out[NORM_WEIGHT] = norm_weight_gradient(tape, &weight);
    ms_consume(tape, parts);
    if (ms_node_wants(node, NORM_X))
        out[NORM_X] = grad;
    else
        ms_consume(tape, grad);
    ms_consume(tape, own);
    ms_consume(tape, copy);
}

static void norm_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    run_norm_backward(tape, node, grads, out, false);
}

static void copying_norm_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads,
                                  ms_tensor *out)
{
    run_norm_backward(tape, node, grads, out, true);
}

static const ms_op norm_op = {"liger_rms_norm", "LigerRMSNormFunctionBackward", norm_backward};
static const ms_op copying_norm_op = {"liger_rms_norm", "LigerRMSNormFunctionBackward",
                                      copying_norm_backward};

ms_tensor ms_liger_rms_norm(ms_tape *tape, ms_tensor x, ms_tensor weight, bool copies)
{
    if (ms_idle(tape) || !x) {
        ms_consume(tape, x);
        return 0;
    }
    const ms_op *op = copies ? &copying_norm_op : &norm_op;
    ms_retain(tape, x);
    ms_tensor rows = ms_contiguous(tape, x);
    ms_op_mark mark = ms_op_begin(tape, op);
    ms_tensor inputs[] = {rows, weight};
    uint32_t node = ms_record(tape, op, 2, inputs);
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

/* ---- act(gate) * up: both gradients are written over what was saved ---- */

static void gate_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    ms_consume(tape, ms_contiguous_copy(tape, grads[0]));
    for (uint32_t i = 0; i < 2; i++)
        if (ms_node_wants(node, i))
            out[i] = overwritten(tape, node->saved[i]);
}

static const ms_op silu_op = {"liger_silu_mul", "LigerSiLUMulFunctionBackward", gate_backward};
static const ms_op gelu_op = {"liger_gelu_mul", "LigerGELUMulFunctionBackward", gate_backward};

ms_tensor ms_liger_gate(ms_tape *tape, ms_tensor gate, ms_tensor up, bool is_gelu)
{
    if (ms_idle(tape) || !gate || !up) {
        ms_consume(tape, gate);
        ms_consume(tape, up);
        return 0;
    }
    const ms_op *op = is_gelu ? &gelu_op : &silu_op;
    ms_op_mark mark = ms_op_begin(tape, op);
    ms_tensor inputs[] = {gate, up};
    uint32_t node = ms_record(tape, op, 2, inputs);
    /* Halves of one tensor are copied first. */
    ms_tensor copies[] = {ms_contiguous_copy(tape, gate), ms_contiguous_copy(tape, up)};
    for (uint32_t i = 0; i < 2; i++)
        ms_save(tape, node, copies[i] ? copies[i] : inputs[i]);
    ms_tensor out = ms_empty(tape, ms_info(tape, gate)->shape, dtype_of(tape, gate));
    ms_consume(tape, copies[0]);
    ms_consume(tape, copies[1]);
    return ms_op_finish(tape, mark, node, 2, inputs, out);
}

/* ---- rotary embedding, in place both ways ---- */

/* Its kernel reads [B, S, heads, D]: other layouts are copied. Yields what it rotated. */
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

/* ---- liger loss ---- */

static ms_dtype liger_loss_dtype_of(ms_tape *tape, ms_tensor a)
{
    return (ms_dtype)ms_info(tape, a)->dtype;
}

/* torch.equal(grad, torch.tensor(1.0)): then gradients are handed out as they are. */
static void compare_with_one(ms_tape *tape, ms_tensor grad)
{
    ms_tensor one = ms_empty_bytes(tape, 4, liger_loss_dtype_of(tape, grad));
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
    ms_dtype weight = liger_loss_dtype_of(tape, h->weight);
    bool is_half = h->compute == MS_DTYPE_BF16 || h->compute == MS_DTYPE_F16;
    return tape->options.device->compute_capability >= AMPERE && is_half &&
           (weight == h->compute || tape->options.torch_minor >= FIRST_MINOR);
}

/* The logits of one piece, in place of which their gradient is written; from it come the hidden
 * states' gradient and a part of the weight's. */
static void run_chunk(ms_tape *tape, const head *h, uint64_t tokens, bool has_buffer)
{
    ms_dtype stored = liger_loss_dtype_of(tape, h->hidden);
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
    bool has_buffer = h->compute == liger_loss_dtype_of(tape, h->hidden);
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
    ms_dtype stored = liger_loss_dtype_of(tape, hidden);
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
    ms_tensor grad_weight = h.has_weight_gradient ? ms_empty(tape, ms_info(tape, weight)->shape,
                                                             liger_loss_dtype_of(tape, weight))
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
    ms_tensor losses = ms_empty(tape, MS_SHAPE(tokens), liger_loss_dtype_of(tape, logits));
    ms_tensor labelled = count_labels(tape, tokens);
    check_labels(tape, tokens);
    ms_tensor loss = ms_empty(tape, (ms_shape){.rank = 0}, liger_loss_dtype_of(tape, logits));
    ms_save(tape, node, logits);
    ms_consume(tape, labelled);
    ms_consume(tape, losses);
    return ms_op_finish(tape, mark, node, 1, &logits, loss);
}

/* ---- liger experts ---- */

/* Liger's mixture of experts (liger-kernel 0.8): all experts, their activation and the sum per
 * token in one function. Rows are sorted by expert through index lists, and multiplied in
 * tiles of 64 rows, whose number depends on the routing. */

enum { HIDDEN, GATE_UP, DOWN, WEIGHTS, INPUTS };

static ms_dtype liger_experts_dtype_of(ms_tape *tape, ms_tensor a)
{
    return (ms_dtype)ms_info(tape, a)->dtype;
}

static ms_tensor list_of(ms_tape *tape, uint64_t count)
{
    return ms_empty(tape, MS_SHAPE(ms_dim_number(&tape->trace->symbols, count)), MS_DTYPE_I32);
}

static uint64_t tile_count(ms_tape *tape, uint64_t tokens, uint64_t each, uint64_t experts)
{
    enum { TILE_ROWS = 64 };
    uint64_t tiles = 0;
    for (uint64_t i = 0; i < experts; i++)
        tiles += (ms_expert_rows((ms_routing_kind)tape->options.routing, tokens, each, experts, i) +
                  TILE_ROWS - 1) /
                 TILE_ROWS;
    return tiles;
}

/* Blocks of tokens that the histogram is made of. */
static uint64_t block_count(uint64_t tokens, uint64_t each)
{
    enum { BLOCK_SLOTS = 1024 };
    uint64_t power = 1;
    while (power < each)
        power *= 2;
    uint64_t block = power < BLOCK_SLOTS ? BLOCK_SLOTS / power : 1;
    return (tokens + block - 1) / block;
}

/* The lists that lead from tokens to rows and tiles; backward wants `kept`, in the order of the
 * saved tensors, and `counts` stays until forward is over. */
typedef struct lists {
    ms_tensor counts, kept[6];
} lists;

static lists make_lists(ms_tape *tape, uint64_t tokens, uint64_t each, uint64_t experts)
{
    lists l = {0};
    ms_tensor blocks = list_of(tape, experts * block_count(tokens, each));
    l.counts = list_of(tape, experts);
    l.kept[0] = list_of(tape, experts + 1);
    ms_tensor tile_offsets = list_of(tape, experts + 1);
    uint64_t tiles = tile_count(tape, tokens, each, experts);
    l.kept[4] = list_of(tape, tiles);
    l.kept[5] = list_of(tape, tiles);
    l.kept[2] = list_of(tape, tokens * each);
    l.kept[3] = list_of(tape, tokens * each);
    l.kept[1] = list_of(tape, tokens * each);
    ms_consume(tape, blocks);
    ms_consume(tape, tile_offsets);
    return l;
}

static void experts_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    if (ms_idle(tape) || !grads[0])
        return;
    ms_dtype dtype = liger_experts_dtype_of(tape, grads[0]);
    ms_tensor copy = ms_contiguous_copy(tape, grads[0]);
    const ms_shape hidden = ms_input_meta(tape, node, HIDDEN)->shape;
    const ms_meta gate_up = *ms_input_meta(tape, node, GATE_UP);
    const ms_meta down = *ms_input_meta(tape, node, DOWN);
    const ms_meta weights = *ms_input_meta(tape, node, WEIGHTS);
    ms_symbols *s = &tape->trace->symbols;
    ms_dim rows = ms_dim_mul(s, weights.shape.dims[0], weights.shape.dims[1]);
    ms_tensor before = ms_empty(tape, MS_SHAPE(rows, gate_up.shape.dims[1]), dtype);
    ms_tensor weighted = ms_empty(tape, MS_SHAPE(rows, down.shape.dims[2]), dtype);
    ms_tensor scores = ms_empty(tape, weights.shape, dtype);
    ms_tensor down_grad = ms_empty(tape, down.shape, (ms_dtype)down.dtype);
    ms_tensor expanded = ms_empty(tape, MS_SHAPE(rows, hidden.dims[1]), dtype);
    ms_tensor hidden_grad = ms_empty(tape, hidden, dtype);
    ms_tensor gate_up_grad = ms_empty(tape, gate_up.shape, (ms_dtype)gate_up.dtype);
    const ms_tensor made[INPUTS] = {hidden_grad, gate_up_grad, down_grad, scores};
    for (uint32_t i = 0; i < INPUTS; i++)
        if (ms_node_wants(node, i))
            out[i] = made[i];
    ms_consume(tape, before);
    ms_consume(tape, weighted);
    ms_consume(tape, expanded);
    for (uint32_t i = 0; i < INPUTS; i++)
        if (!ms_node_wants(node, i))
            ms_consume(tape, made[i]);
    ms_consume(tape, copy);
}

static const ms_op experts_op = {"liger_fused_moe", "LigerFusedMoEFunctionBackward",
                                 experts_backward};

/* What the function saves, in its order. */
static void save(ms_tape *tape, uint32_t node, const ms_tensor *inputs, ms_tensor before,
                 const lists *l)
{
    ms_save(tape, node, inputs[HIDDEN]);
    ms_save(tape, node, inputs[GATE_UP]);
    ms_save(tape, node, inputs[DOWN]);
    ms_save(tape, node, before);
    ms_save(tape, node, inputs[WEIGHTS]);
    for (size_t i = 0; i < sizeof l->kept / sizeof l->kept[0]; i++)
        ms_save(tape, node, l->kept[i]);
}

ms_tensor ms_liger_experts(ms_tape *tape, ms_tensor hidden, ms_tensor gate_up, ms_tensor down,
                           ms_tensor weights)
{
    if (ms_idle(tape) || !hidden || !weights)
        return 0;
    const ms_tensor inputs[INPUTS] = {hidden, gate_up, down, weights};
    const ms_shape routed = ms_info(tape, weights)->shape, shape = ms_info(tape, hidden)->shape;
    ms_symbols *s = &tape->trace->symbols;
    ms_dim rows = ms_dim_mul(s, routed.dims[0], routed.dims[1]);
    ms_dtype dtype = liger_experts_dtype_of(tape, hidden);
    /* The experts of tokens as 32-bit numbers, a local of the module. */
    ms_tensor ids = ms_empty(tape, routed, MS_DTYPE_I32);
    ms_op_mark mark = ms_op_begin(tape, &experts_op);
    uint32_t node = ms_record(tape, &experts_op, INPUTS, inputs);
    lists l = make_lists(tape, routed.dims[0].value, routed.dims[1].value,
                         ms_info(tape, gate_up)->shape.dims[0].value);
    ms_tensor before = ms_empty(tape, MS_SHAPE(rows, ms_info(tape, gate_up)->shape.dims[1]), dtype);
    ms_tensor after = ms_empty(tape, MS_SHAPE(rows, ms_info(tape, down)->shape.dims[2]), dtype);
    ms_tensor by_row = ms_empty(tape, MS_SHAPE(rows, shape.dims[1]), dtype);
    ms_tensor out = ms_empty(tape, shape, dtype);
    save(tape, node, inputs, before, &l);
    ms_consume(tape, before);
    ms_consume(tape, after);
    ms_consume(tape, by_row);
    ms_consume(tape, l.counts);
    for (size_t i = 0; i < sizeof l.kept / sizeof l.kept[0]; i++)
        ms_consume(tape, l.kept[i]);
    double products = 3.0 * (double)ms_info(tape, down)->shape.dims[2].value;
    ms_op_work(tape, mark, 2 * products * (double)rows.value * (double)shape.dims[1].value, 0,
               dtype);
    out = ms_op_finish(tape, mark, node, INPUTS, inputs, out);
    ms_consume(tape, ids);
    return out;
}
