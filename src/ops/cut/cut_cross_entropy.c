/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ops/cut/cut_cross_entropy.h"

#include "autograd/graph.h"
#include "ops/moe/rows.h"

enum { ROWS = 128, COLUMNS = 64 }; /* of a block that a lock is for */
enum { HIDDEN, WEIGHT };           /* inputs */

static ms_dtype dtype_of(ms_tape *tape, ms_tensor a)
{
    return (ms_dtype)ms_info(tape, a)->dtype;
}

static ms_dim number(ms_tape *tape, uint64_t value)
{
    return ms_dim_number(&tape->trace->symbols, value);
}

static ms_dim blocks(ms_tape *tape, uint64_t elements, uint64_t each)
{
    return number(tape, elements / each + (elements % each != 0));
}

/* (labels[..., 1:] != ignored).nonzero().to(torch.int32).sum(1) */
ms_tensor ms_cut_valids(ms_tape *tape, ms_dim batch, ms_dim scored)
{
    if (ms_idle(tape))
        return 0;
    const ms_shape places = MS_SHAPE(batch, scored);
    const ms_dim count = ms_dim_mul(&tape->trace->symbols, batch, scored);
    ms_tensor mask = ms_empty(tape, places, MS_DTYPE_BOOL);
    ms_tensor found = ms_nonzero(tape, &places, true, count);
    ms_consume(tape, mask);
    ms_tensor pairs = ms_empty(tape, MS_SHAPE(count, number(tape, 2)), MS_DTYPE_I32);
    ms_consume(tape, found);
    ms_tensor out = ms_empty(tape, MS_SHAPE(count), MS_DTYPE_I64);
    ms_consume(tape, ms_empty(tape, MS_SHAPE(count, number(tape, 2)), MS_DTYPE_I64));
    ms_consume(tape, pairs);
    return out;
}

/* argsort(averages).to(torch.int32), compiled */
static ms_tensor order_of(ms_tape *tape, ms_dim vocab)
{
    ms_tensor values = ms_empty(tape, MS_SHAPE(vocab), MS_DTYPE_F32);
    ms_tensor indices = ms_empty(tape, MS_SHAPE(vocab), MS_DTYPE_I64);
    ms_tensor range = ms_empty(tape, MS_SHAPE(vocab), MS_DTYPE_I64);
    ms_transient(tape, ms_cub_sort_rows_bytes(tape, vocab.value), MS_DTYPE_U8);
    ms_consume(tape, range);
    ms_consume(tape, values);
    ms_tensor order = ms_empty(tape, MS_SHAPE(vocab), MS_DTYPE_I32);
    ms_consume(tape, indices);
    return order;
}

/* The gradient of an input, zeros that the kernel adds to; 0: none is wanted. */
static ms_tensor gradient_of(ms_tape *tape, const ms_node *node, uint32_t input)
{
    const ms_meta *meta = ms_input_meta(tape, node, input);
    return ms_node_wants(node, input) ? ms_empty(tape, meta->shape, (ms_dtype)meta->dtype) : 0;
}

static ms_tensor locks_of(ms_tape *tape, const ms_node *node, uint32_t input, uint64_t rows)
{
    const ms_dim width = ms_input_meta(tape, node, input)->shape.dims[1];
    return ms_node_wants(node, input)
               ? ms_empty(tape,
                          MS_SHAPE(blocks(tape, rows, ROWS), blocks(tape, width.value, COLUMNS)),
                          MS_DTYPE_I32)
               : 0;
}

static void cut_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    (void)grads;
    const ms_dim vocab = ms_input_meta(tape, node, WEIGHT)->shape.dims[0];
    ms_tensor order = order_of(tape, vocab);
    out[HIDDEN] = gradient_of(tape, node, HIDDEN);
    out[WEIGHT] = gradient_of(tape, node, WEIGHT);
    ms_tensor hidden_locks = locks_of(tape, node, HIDDEN, node->numbers[0]);
    ms_tensor weight_locks = locks_of(tape, node, WEIGHT, vocab.value);
    ms_consume(tape, hidden_locks);
    ms_consume(tape, weight_locks);
    ms_consume(tape, order);
}

static const ms_op cut_op = {"cut_cross_entropy", "LinearCrossEntropyFunctionBackward",
                             cut_backward};

ms_tensor ms_cut_cross_entropy(ms_tape *tape, ms_tensor hidden, ms_tensor weight, ms_tensor labels,
                               ms_tensor valids)
{
    if (ms_idle(tape) || !hidden || !valids)
        return 0;
    ms_op_mark mark = ms_op_begin(tape, &cut_op);
    const ms_tensor inputs[] = {hidden, weight};
    const uint32_t node = ms_record(tape, &cut_op, 2, inputs);
    const ms_shape tokens = ms_info(tape, valids)->shape;
    const ms_shape states = ms_info(tape, hidden)->shape;
    const ms_dim vocab = ms_info(tape, weight)->shape.dims[0];
    const bool has_averages = /* asked of the tensors, also where nothing is recorded */
        ms_info(tape, hidden)->requires_grad || ms_info(tape, weight)->requires_grad;
    ms_node_numbers(tape, node, 1, (uint64_t[]){tokens.dims[0].value});
    ms_tensor sums = ms_empty(tape, tokens, MS_DTYPE_F32);
    ms_tensor locks =
        ms_empty(tape, MS_SHAPE(blocks(tape, tokens.dims[0].value, ROWS)), MS_DTYPE_I32);
    ms_tensor averages = has_averages ? ms_empty(tape, MS_SHAPE(vocab), MS_DTYPE_F32) : 0;
    ms_consume(tape, locks);
    ms_tensor losses = ms_empty(tape, tokens, MS_DTYPE_F32);
    ms_retain(tape, losses);
    ms_tensor loss = ms_sum(tape, losses);
    ms_save(tape, node, hidden);
    ms_save(tape, node, weight);
    ms_save(tape, node, sums);
    ms_save(tape, node, labels);
    ms_save(tape, node, averages);
    if (node != MS_NONE) /* they are also among the settings, which stay with the node */
        ms_graph_hold_activation(tape, valids);
    ms_release(tape, losses);
    ms_consume(tape, sums);
    ms_consume(tape, averages);
    ms_op_work(tape, mark, 2 * (double)ms_elements(&states) * (double)vocab.value, 0,
               dtype_of(tape, hidden));
    loss = ms_op_finish(tape, mark, node, 2, inputs, loss);
    ms_consume(tape, valids);
    return loss;
}
