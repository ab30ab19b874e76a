/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/blocks/losses/cut_loss.h"

#include "input/config/run/run_config.h"
#include "torch/ops/cut/cut_cross_entropy.h"
#include "torch/ops/moe/rows.h"
#include "torch/ops/ops.h"

/* Where in the flat batch the tokens are whose next one has a label: int64 [N]. */
static ms_tensor labelled_places(ms_model *model, ms_tensor labels)
{
    ms_tape *tape = model->tape;
    ms_symbols *s = &tape->trace->symbols;
    ms_locals f = ms_locals_begin(tape);
    const ms_dim scored = ms_dim_number(s, model->seq.value - 1);
    const ms_dim count = ms_dim_number(s, ms_run_labels(model->run));
    ms_tensor *next = ms_local(&f, ms_narrow(tape, labels, 1, scored));
    if (ms_idle(tape))
        return ms_locals_end(&f, NULL);
    const ms_shape shape = MS_SHAPE(model->batch, scored);
    ms_tensor mask = ms_compare(tape, *next, 0);
    ms_retain(tape, mask);
    ms_tensor found = ms_nonzero(tape, &shape, true, count);
    ms_release(tape, mask);
    ms_tensor *pairs = ms_local(&f, ms_to(tape, found, MS_DTYPE_I32));
    ms_tensor places = ms_empty(tape, MS_SHAPE(count), MS_DTYPE_I64);
    ms_consume(tape, ms_to(tape, *pairs, MS_DTYPE_I64)); /* what is summed up */
    ms_tensor *held = ms_local(&f, places);
    return ms_locals_end(&f, held);
}

ms_tensor ms_cut_loss(ms_model *model, const ms_linear_module *head, ms_tensor hidden,
                      ms_tensor labels)
{
    ms_tape *tape = model->tape;
    if (ms_idle(tape) || !hidden)
        return 0;
    ms_locals f = ms_locals_begin(tape);
    const ms_dtype narrow = (ms_dtype)ms_info(tape, head->weight)->dtype;
    ms_tensor *outputs = ms_local(&f, hidden);
    ms_tensor *states = ms_local(&f, ms_to(tape, *outputs, narrow));
    ms_tensor *places = ms_local(&f, labelled_places(model, labels));
    const uint32_t previous = ms_scope_enter(tape, head->scope);
    ms_tensor *sum = ms_local(
        &f, ms_cut_cross_entropy(tape, *states, head->weight, head->bias, labels, *places));
    tape->scope = previous;
    ms_tensor *loss = ms_local(&f, ms_idle(tape)        ? 0
                                   : model->label_count ? ms_div(tape, *sum, model->label_count)
                                                        : *sum);
    return ms_locals_end(&f, loss);
}
