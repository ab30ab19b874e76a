/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Tables and scores whose rows or columns are split by vocabulary: indices of other ranks are
 * masked (torch/distributed/tensor/placement_types.py and tensor/parallel/loss.py).
 */
#include "torch/ops/dtensor/dtensor.h"

#include "torch/autograd/engine.h"
#include "torch/ops/ops.h"

static ms_tensor held(ms_tape *tape, ms_tensor tensor)
{
    ms_retain(tape, tensor);
    return tensor;
}

static ms_tensor new_like(ms_tape *tape, ms_tensor like, ms_dtype dtype)
{
    return held(tape, ms_empty_like(tape, like, dtype));
}

/* ---- by vocabulary (vocabulary.c) ---- */

/* Indices outside this rank's rows are masked: the mask, retained, and indices that start at the
 * rank's first row, retained. `like`: the indices. */
static void mesh_mask(ms_tape *tape, ms_tensor like, ms_tensor *mask, ms_tensor *masked)
{
    ms_tensor below = new_like(tape, like, MS_DTYPE_BOOL);
    ms_tensor above = new_like(tape, like, MS_DTYPE_BOOL);
    *mask = new_like(tape, like, MS_DTYPE_BOOL);
    ms_release(tape, below);
    ms_release(tape, above);
    ms_tensor clone = new_like(tape, like, MS_DTYPE_I64);
    *masked = new_like(tape, like, MS_DTYPE_I64);
    ms_release(tape, clone);
}

/* ---- the table ---- */

ms_tensor ms_mesh_embedding(ms_tape *tape, ms_tensor weight, ms_tensor ids)
{
    if (ms_idle(tape) || !weight || !ids)
        return 0;
    ms_tensor mask, masked;
    ms_dim rows = ms_info(tape, weight)->shape.dims[0];
    mesh_mask(tape, ids, &mask, &masked);
    ms_tensor out = ms_embedding_rows(
        tape, weight, ids, ms_dim_number(&tape->trace->symbols, rows.value * ms_mesh_ranks(tape)));
    ms_release(tape, masked);
    ms_release(tape, mask);
    return out;
}

/* ---- the loss ---- */

/* where(labels != ignore, value, 0): a mask and the number's tensor live for the call. */
static ms_tensor where_counted(ms_tape *tape, ms_tensor labels, const ms_shape *shape,
                               ms_dtype dtype)
{
    ms_tensor counted = new_like(tape, labels, MS_DTYPE_BOOL);
    ms_tensor zero = held(tape, ms_empty(tape, (ms_shape){.rank = 0}, dtype));
    ms_tensor out = held(tape, ms_empty(tape, *shape, dtype));
    ms_release(tape, zero);
    ms_release(tape, counted);
    return out;
}

/* The maximum or the sum of each row. */
static ms_tensor reduced_rows(ms_tape *tape, ms_tensor rows)
{
    if (ms_idle(tape) || !rows)
        return 0;
    ms_shape shape = ms_info(tape, rows)->shape;
    shape.dims[shape.rank - 1] = (ms_dim){.value = 1};
    return held(tape, ms_sum_to(tape, rows, &shape));
}

static ms_tensor all_reduced(ms_tape *tape, ms_tensor tensor)
{
    return held(tape, ms_mesh_all_reduce(tape, tensor));
}

static ms_tensor log_softmax(ms_tape *tape, ms_tensor scores)
{
    ms_tensor own_most = reduced_rows(tape, scores);
    ms_tensor most = all_reduced(tape, own_most);
    ms_release(tape, own_most);
    ms_tensor shifted = new_like(tape, scores, MS_DTYPE_F32);
    ms_tensor powers = new_like(tape, scores, MS_DTYPE_F32);
    ms_tensor own_sum = reduced_rows(tape, powers);
    ms_release(tape, powers);
    ms_tensor sum = all_reduced(tape, own_sum);
    ms_release(tape, own_sum);
    ms_tensor log = new_like(tape, sum, MS_DTYPE_F32);
    ms_tensor out = new_like(tape, scores, MS_DTYPE_F32);
    ms_release(tape, shifted);
    ms_release(tape, most);
    ms_release(tape, sum);
    ms_release(tape, log);
    return out;
}

static ms_shape column_of(ms_tape *tape, ms_tensor labels)
{
    return MS_SHAPE(ms_info(tape, labels)->shape.dims[0], (ms_dim){.value = 1});
}

static ms_tensor scalar(ms_tape *tape, ms_dtype dtype)
{
    return held(tape, ms_empty(tape, (ms_shape){.rank = 0}, dtype));
}

/* The mean, and the number of labels as a number of the scores' type. */
static ms_tensor mean(ms_tape *tape, ms_tensor labels, ms_tensor counted_losses, ms_tensor *total)
{
    ms_tensor counted = ms_empty_like(tape, labels, MS_DTYPE_BOOL);
    ms_tensor count = scalar(tape, MS_DTYPE_I64);
    ms_consume(tape, ms_empty_like(tape, labels, MS_DTYPE_I64)); /* the sum's input */
    ms_consume(tape, counted);
    *total = scalar(tape, MS_DTYPE_F32);
    ms_release(tape, count);
    ms_tensor sum = ms_sum(tape, counted_losses);
    ms_tensor out = ms_empty(tape, (ms_shape){.rank = 0}, MS_DTYPE_F32);
    ms_consume(tape, sum);
    return out;
}

/* The scalar, floating; *total is retained. */
static ms_tensor nll_loss(ms_tape *tape, ms_tensor labels, ms_tensor *total)
{
    const ms_shape rows = ms_info(tape, labels)->shape, column = column_of(tape, labels);
    ms_tensor safe = where_counted(tape, labels, &rows, MS_DTYPE_I64);
    ms_tensor mask, masked;
    mesh_mask(tape, safe, &mask, &masked);
    ms_tensor own = held(tape, ms_empty(tape, column, MS_DTYPE_F32));
    ms_release(tape, mask);
    ms_tensor reduced = all_reduced(tape, own);
    ms_tensor negative = held(tape, ms_empty(tape, rows, MS_DTYPE_F32));
    ms_tensor losses = where_counted(tape, labels, &rows, MS_DTYPE_F32);
    ms_release(tape, negative);
    ms_tensor out = mean(tape, labels, losses, total);
    const ms_tensor locals[] = {losses, safe, masked, own, reduced};
    for (size_t i = 0; i < sizeof locals / sizeof *locals; i++)
        ms_release(tape, locals[i]);
    return out;
}

/* The gradient of the scores, for both operators at once. */
static void cross_entropy_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads,
                                   ms_tensor *out)
{
    ms_tensor log_probs = node->saved[1], labels = node->saved[2];
    (void)grads;
    const ms_shape rows = ms_info(tape, labels)->shape, column = column_of(tape, labels);
    ms_tensor grad = scalar(tape, MS_DTYPE_F32);
    ms_tensor safe = where_counted(tape, labels, &column, MS_DTYPE_I64);
    ms_tensor input = new_like(tape, log_probs, MS_DTYPE_F32);
    ms_tensor mask, masked;
    mesh_mask(tape, labels, &mask, &masked);
    ms_tensor wide = new_like(tape, mask, MS_DTYPE_F32);
    ms_tensor update = new_like(tape, mask, MS_DTYPE_F32);
    ms_release(tape, wide);
    ms_tensor range = held(tape, ms_empty(tape, rows, MS_DTYPE_I64));
    ms_tensor grad_rows = where_counted(tape, labels, &column, MS_DTYPE_F32);
    ms_release(tape, grad);
    ms_tensor powers = new_like(tape, log_probs, MS_DTYPE_F32);
    ms_tensor sum = new_like(tape, log_probs, MS_DTYPE_F32);
    ms_release(tape, powers);
    out[0] = ms_empty_like(tape, log_probs, MS_DTYPE_F32);
    const ms_tensor locals[] = {sum, grad_rows, safe, input, mask, masked, update, range};
    for (size_t i = 0; i < sizeof locals / sizeof *locals; i++)
        ms_release(tape, locals[i]);
}

static const ms_op cross_entropy_op = {"cross_entropy", "NllLossBackward0", cross_entropy_backward};

ms_tensor ms_mesh_cross_entropy(ms_tape *tape, ms_tensor scores, ms_tensor labels)
{
    if (ms_idle(tape) || !scores || !labels) {
        ms_consume(tape, scores);
        return 0;
    }
    ms_op_mark mark = ms_op_begin(tape, &cross_entropy_op);
    uint32_t node = ms_record(tape, &cross_entropy_op, 1, &scores);
    bool outer = tape->grad_enabled;
    ms_retain(tape, scores);
    tape->grad_enabled = false;
    ms_tensor log_probs = log_softmax(tape, scores), total = 0;
    ms_tensor loss = ms_idle(tape) ? 0 : nll_loss(tape, labels, &total);
    tape->grad_enabled = outer;
    ms_unown(tape, scores);
    ms_save(tape, node, total);
    ms_save(tape, node, log_probs);
    ms_save(tape, node, labels);
    ms_release(tape, total);
    ms_release(tape, log_probs);
    return ms_op_finish(tape, mark, node, 2, (ms_tensor[]){scores, labels}, loss);
}
