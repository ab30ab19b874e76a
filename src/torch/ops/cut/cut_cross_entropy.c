/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "torch/ops/cut/cut_cross_entropy.h"

#include "torch/autograd/graph.h"
#include "torch/ops/moe/routing.h"

/* A lock is a number of 32 bits for so many rows, and in backward for so many columns of them. */
enum { LOCK_ROWS = 128, LOCK_COLUMNS = 64, LOCK_BYTES = 4 };

enum { HIDDEN, WEIGHT, BIAS, INPUTS };
enum { HAS_BIAS, NUMBERS };

static const ms_shape *shape_of(ms_tape *tape, ms_tensor a)
{
    return &ms_info(tape, a)->shape;
}

static uint64_t parts(uint64_t count, uint64_t each)
{
    return (count + each - 1) / each;
}

static ms_tensor locks(ms_tape *tape, uint64_t rows, uint64_t columns)
{
    const uint64_t count = parts(rows, LOCK_ROWS) * parts(columns, LOCK_COLUMNS);
    return ms_empty_bytes(tape, LOCK_BYTES * count, MS_DTYPE_I32);
}

/* argsort(logits' averages), in 32 bits: the order in which backward takes the vocabulary. */
static ms_tensor ordering(ms_tape *tape, ms_tensor averages)
{
    ms_tensor sorted[2];
    ms_sort(tape, averages, sorted);
    ms_consume(tape, sorted[0]);
    ms_tensor order = ms_idle(tape) ? 0 : ms_empty(tape, *shape_of(tape, averages), MS_DTYPE_I32);
    ms_consume(tape, sorted[1]);
    return order;
}

static ms_tensor gradient_of(ms_tape *tape, const ms_node *node, uint32_t input)
{
    return ms_node_wants(node, input)
               ? ms_empty_like(tape, node->saved[input],
                               (ms_dtype)ms_info(tape, node->saved[input])->dtype)
               : 0;
}

static void cut_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    (void)grads;
    const bool has_bias = node->numbers[HAS_BIAS] != 0;
    const uint32_t inputs = has_bias ? INPUTS : BIAS;
    const ms_tensor lse = node->saved[inputs], averages = node->saved[inputs + 2];
    ms_tensor order = ordering(tape, averages);
    for (uint32_t i = 0; i < BIAS && !ms_idle(tape); i++)
        out[i] = gradient_of(tape, node, i);
    const bool trains_bias = has_bias && ms_node_wants(node, BIAS) && !ms_idle(tape);
    ms_tensor wide = trains_bias ? ms_empty_like(tape, node->saved[BIAS], MS_DTYPE_F32) : 0;
    if (ms_idle(tape))
        return;
    const uint64_t tokens = shape_of(tape, lse)->dims[0].value;
    const ms_shape weight = *shape_of(tape, node->saved[WEIGHT]);
    ms_tensor of_rows = out[HIDDEN] ? locks(tape, tokens, weight.dims[1].value) : 0;
    ms_tensor of_vocab = out[WEIGHT] ? locks(tape, weight.dims[0].value, weight.dims[1].value) : 0;
    if (trains_bias && !ms_idle(tape)) {
        out[BIAS] = gradient_of(tape, node, BIAS);
        ms_consume(tape, wide);
    }
    ms_consume(tape, of_rows);
    ms_consume(tape, of_vocab);
    ms_consume(tape, order);
}

static const ms_op cut_op = {"cut_cross_entropy", "LinearCrossEntropyFunctionBackward",
                             cut_backward};

/* Logarithms of sums of logits, their averages where something is trained, and the loss. */
typedef struct results {
    ms_tensor lse, averages, loss;
} results;

static results run_forward(ms_tape *tape, ms_dim tokens, ms_dim vocab, bool is_trained)
{
    results r = {0};
    r.lse = ms_empty(tape, MS_SHAPE(tokens), MS_DTYPE_F32);
    ms_tensor of_rows = locks(tape, tokens.value, 1);
    r.averages = is_trained ? ms_empty(tape, MS_SHAPE(vocab), MS_DTYPE_F32) : 0;
    ms_consume(tape, of_rows);
    ms_tensor negated = ms_empty(tape, MS_SHAPE(tokens), MS_DTYPE_F32);
    r.loss = ms_empty(tape, (ms_shape){.rank = 0}, MS_DTYPE_F32);
    ms_consume(tape, negated);
    return r;
}

ms_tensor ms_cut_cross_entropy(ms_tape *tape, ms_tensor hidden, ms_tensor weight, ms_tensor bias,
                               ms_tensor labels, ms_tensor places)
{
    if (ms_idle(tape) || !hidden || !weight || !labels || !places)
        return 0;
    ms_op_mark mark = ms_op_begin(tape, &cut_op);
    const ms_tensor inputs[] = {hidden, weight, bias};
    const uint32_t count = bias ? INPUTS : BIAS;
    const uint32_t node = ms_record(tape, &cut_op, count, inputs);
    const ms_dim vocab = shape_of(tape, weight)->dims[0];
    const bool is_trained =
        ms_info(tape, hidden)->requires_grad || ms_info(tape, weight)->requires_grad;
    const results r = run_forward(tape, shape_of(tape, places)->dims[0], vocab, is_trained);
    ms_node_numbers(tape, node, NUMBERS, (uint64_t[]){bias != 0});
    for (uint32_t i = 0; i < count; i++)
        ms_save(tape, node, inputs[i]);
    ms_save(tape, node, r.lse);
    ms_save(tape, node, labels);
    ms_save(tape, node, r.averages);
    if (node != MS_NONE) /* its parameters name them too */
        ms_graph_hold_activation(tape, places);
    ms_consume(tape, r.lse);
    ms_consume(tape, r.averages);
    const double tokens = (double)shape_of(tape, places)->dims[0].value;
    const double width = (double)shape_of(tape, weight)->dims[1].value;
    ms_op_work(tape, mark, 2 * tokens * width * (double)vocab.value, 0,
               (ms_dtype)ms_info(tape, hidden)->dtype);
    return ms_op_finish(tape, mark, node, count, inputs, r.loss);
}
