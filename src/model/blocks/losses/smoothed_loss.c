/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Trainer's loss with label smoothing, from the logits of a model without labels.
 */
#include "model/blocks/losses/smoothed_loss.h"

#include "model/blocks/blocks.h"
#include "torch/ops/moe/routing.h"
#include "torch/ops/moe/experts.h"
#include "torch/ops/ops.h"

/* The logits, and the labels, of tokens that have a next one. */
static void shift(ms_model *model, ms_locals *f, uint64_t kept, ms_tensor *logits,
                  ms_tensor *labels)
{
    ms_tape *tape = model->tape;
    ms_dim next = ms_dim_number(&tape->trace->symbols, ms_kept_tokens(model, kept).value - 1);
    ms_assign(f, logits, ms_contiguous(tape, ms_narrow(tape, *logits, 1, next)));
    ms_assign(f, labels, ms_contiguous(tape, ms_narrow(tape, *labels, 1, next)));
}

/* (1 - epsilon) * nll + epsilon * smoothed */
static ms_tensor blend(ms_tape *tape, ms_tensor nll, ms_tensor smoothed)
{
    ms_tensor first = ms_mul_scalar(tape, nll);
    return ms_add(tape, first, ms_mul_scalar(tape, smoothed));
}

ms_tensor ms_smoothed_loss(ms_model *model, ms_tensor output, ms_tensor ids, uint64_t kept)
{
    ms_tape *tape = model->tape;
    if (ms_idle(tape) || !output)
        return 0;
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *labels = ms_local(&f, ids);
    ms_tensor *logits = ms_argument(&f, output);
    shift(model, &f, kept, logits, labels);
    ms_tensor *log_probs = ms_local(&f, ms_neg(tape, ms_log_softmax(tape, *logits)));
    ms_assign(&f, labels, ms_unsqueeze(tape, *labels, 2));
    ms_tensor *padding = ms_local(&f, ms_compare(tape, *labels, 0));
    ms_assign(&f, labels, ms_clamp(tape, *labels, 1));
    ms_tensor *nll = ms_local(&f, ms_gather_last(tape, *log_probs, *labels));
    ms_tensor *smoothed = ms_local(&f, ms_sum_last_fp32(tape, *log_probs));
    ms_assign(&f, nll, ms_masked_fill_(tape, *nll, *padding));
    ms_assign(&f, smoothed, ms_masked_fill_(tape, *smoothed, *padding));
    ms_assign(&f, nll, ms_div(tape, ms_sum(tape, *nll), model->label_count));
    ms_tensor sum = ms_sum(tape, *smoothed);
    ms_assign(&f, smoothed, ms_div(tape, sum, ms_mul_scalar(tape, model->label_count)));
    ms_tensor loss = blend(tape, *nll, *smoothed);
    ms_retain(tape, loss);
    ms_locals_end(&f, NULL);
    return ms_unown(tape, loss);
}
