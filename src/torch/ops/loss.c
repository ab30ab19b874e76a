/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Cross entropy as PyTorch computes it: log-softmax, then the negative log-likelihood.
 */
#include "torch/ops/ops.h"

/* ---- softmax ---- */

/* The CUDA kernel gets grad * output as a temporary. */
static void softmax_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    const ms_meta meta = *ms_input_meta(tape, node, 0);
    out[0] = ms_empty(tape, meta.shape, (ms_dtype)meta.dtype);
    if (!tape->on_cpu)
        ms_consume(tape,
                   ms_empty_like(tape, node->saved[0], (ms_dtype)ms_info(tape, grads[0])->dtype));
}

static const ms_op softmax_op = {"softmax", "SoftmaxBackward0", softmax_backward};

/* softmax in `result` dtype; a half input is converted inside the CUDA kernel. */
static ms_tensor softmax(ms_tape *tape, ms_tensor x, ms_dtype result)
{
    ms_op_mark mark = ms_op_begin(tape, &softmax_op);
    uint32_t node = ms_record(tape, &softmax_op, 1, &x);
    ms_tensor out = ms_empty(tape, ms_info(tape, x)->shape, result);
    ms_save(tape, node, out);
    return ms_op_finish(tape, mark, node, 1, &x, out);
}

ms_tensor ms_softmax_in(ms_tape *tape, ms_tensor x, ms_dtype dtype)
{
    if (ms_idle(tape) || !x) {
        ms_consume(tape, x);
        return 0;
    }
    ms_dtype from = (ms_dtype)ms_info(tape, x)->dtype;
    if (from == MS_DTYPE_F16 && dtype == MS_DTYPE_F32 && !tape->on_cpu)
        return softmax(tape, x, dtype);
    ms_retain(tape, x);
    ms_tensor out = softmax(tape, ms_to(tape, x, dtype), dtype);
    ms_consume(tape, ms_unown(tape, x));
    return out;
}

ms_tensor ms_softmax_last(ms_tape *tape, ms_tensor x, ms_dtype dtype)
{
    return ms_softmax_in(tape, x, tape->has_autocast && !tape->on_cpu ? MS_DTYPE_F32 : dtype);
}

/* ---- loss ---- */

static void one_gradient(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    (void)grads;
    const ms_meta meta = *ms_input_meta(tape, node, 0);
    out[0] = ms_empty(tape, meta.shape, (ms_dtype)meta.dtype);
}

static const ms_op log_softmax_op = {"log_softmax", "LogSoftmaxBackward0", one_gradient};
static const ms_op nll_loss_op = {"nll_loss", "NllLossBackward0", one_gradient};

ms_tensor ms_log_softmax(ms_tape *tape, ms_tensor logits)
{
    ms_op_mark mark = ms_op_begin(tape, &log_softmax_op);
    uint32_t node = ms_record(tape, &log_softmax_op, 1, &logits);
    ms_tensor out = ms_empty_like(tape, logits, (ms_dtype)ms_info(tape, logits)->dtype);
    ms_save(tape, node, out);
    return ms_op_finish(tape, mark, node, 1, &logits, out);
}

/* Saves the log-probabilities, the labels and the scalar total weight. */
static ms_tensor nll_loss(ms_tape *tape, ms_tensor log_probs, ms_tensor labels)
{
    ms_op_mark mark = ms_op_begin(tape, &nll_loss_op);
    uint32_t node = ms_record(tape, &nll_loss_op, 1, &log_probs);
    ms_save(tape, node, log_probs);
    ms_save(tape, node, labels);
    ms_shape scalar = {.rank = 0};
    ms_dtype dtype = (ms_dtype)ms_info(tape, log_probs)->dtype;
    ms_tensor loss = ms_empty(tape, scalar, dtype);
    ms_tensor total_weight = ms_empty(tape, scalar, dtype);
    ms_save(tape, node, total_weight);
    ms_consume(tape, total_weight);
    return ms_op_finish(tape, mark, node, 2, (ms_tensor[]){log_probs, labels}, loss);
}

ms_tensor ms_cross_entropy(ms_tape *tape, ms_tensor logits, ms_tensor labels)
{
    if (ms_idle(tape) || !logits || !labels) {
        ms_consume(tape, logits);
        ms_consume(tape, labels);
        return 0;
    }
    /* The CPU's autocast knows the whole loss, CUDA's its second part alone. */
    if (tape->on_cpu) {
        ms_tensor scores = ms_autocast_fp32(tape, logits);
        ms_retain(tape, scores);
        ms_tensor loss = nll_loss(tape, ms_log_softmax(tape, scores), labels);
        ms_consume(tape, ms_unown(tape, scores));
        return loss;
    }
    return nll_loss(tape, ms_autocast_fp32(tape, ms_log_softmax(tape, logits)), labels);
}
