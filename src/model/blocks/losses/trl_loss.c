/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/blocks/losses/trl_loss.h"

#include "input/config/run/run_config.h"
#include "torch/ops/ops.h"
#include "torch/ops/trl/chunked_logprob.h"

/* x.new_zeros(mask.shape).masked_scatter(mask, x) */
static ms_tensor scattered(ms_tape *tape, ms_tensor mask, ms_tensor values)
{
    if (ms_idle(tape) || !values)
        return 0;
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *source = ms_local(&f, values);
    ms_dtype dtype = (ms_dtype)ms_info(tape, values)->dtype;
    ms_tensor zeros = ms_empty(tape, ms_info(tape, mask)->shape, dtype);
    ms_tensor *out = ms_local(&f, ms_masked_scatter(tape, zeros, mask, *source));
    return ms_locals_end(&f, out);
}

/* Of the tokens that the mask selects. */
static ms_log_probs log_probs(ms_model *model, const ms_linear_module *head, ms_tensor hidden,
                              ms_tensor labels, ms_tensor mask)
{
    ms_tape *tape = model->tape;
    ms_locals f = ms_locals_begin(tape);
    ms_dim count = ms_dim_number(&tape->trace->symbols, ms_run_labels(model->run));
    ms_tensor *states = ms_local(&f, ms_select_by_mask(tape, hidden, mask, count));
    ms_tensor *targets = ms_local(&f, ms_select_by_mask(tape, labels, mask, count));
    const uint32_t previous = ms_scope_enter(tape, head->scope);
    const ms_log_probs found =
        ms_chunked_log_probs(tape, *states, head->weight, head->bias, *targets);
    tape->scope = previous;
    ms_locals_end(&f, NULL);
    return found;
}

/* -log_probs.sum() / count, where TRL binds what it makes. */
static ms_tensor mean_loss(ms_model *model, ms_tensor each)
{
    ms_tape *tape = model->tape;
    if (ms_idle(tape) || !each)
        return 0;
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *negated = ms_local(&f, ms_neg(tape, each));
    ms_tensor *sum = ms_local(&f, ms_idle(tape) ? 0 : ms_sum(tape, *negated));
    ms_tensor *loss = ms_local(&f, ms_idle(tape)        ? 0
                                   : model->label_count ? ms_div(tape, *sum, model->label_count)
                                                        : ms_div_scalar(tape, *sum));
    return ms_locals_end(&f, loss);
}

ms_tensor ms_trl_loss(ms_model *model, const ms_linear_module *head, ms_tensor hidden,
                      ms_tensor labels)
{
    ms_tape *tape = model->tape;
    if (ms_idle(tape) || !hidden)
        return 0;
    ms_locals f = ms_locals_begin(tape);
    ms_dim scored = ms_dim_number(&tape->trace->symbols, model->seq.value - 1);
    ms_tensor *states = ms_local(&f, ms_narrow(tape, hidden, 1, scored));
    ms_tensor *next = ms_local(&f, ms_narrow(tape, labels, 1, scored));
    ms_tensor *mask = ms_local(&f, ms_empty(tape, MS_SHAPE(model->batch, scored), MS_DTYPE_BOOL));
    if (ms_idle(tape))
        return ms_locals_end(&f, NULL);
    const ms_log_probs found = log_probs(model, head, *states, *next, *mask);
    ms_tensor *each = ms_local(&f, scattered(tape, *mask, found.log_probs));
    ms_local(&f, scattered(tape, *mask, found.entropy));
    ms_local(&f, scattered(tape, *mask, found.is_top));
    ms_tensor *loss = ms_local(&f, mean_loss(model, *each));
    return ms_locals_end(&f, loss);
}
