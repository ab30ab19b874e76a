/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/blocks/losses/cut_loss.h"

#include "ops/cut/cut_cross_entropy.h"

ms_tensor ms_cut_loss(ms_model *model, const ms_linear_module *head, ms_tensor hidden,
                      ms_tensor labels)
{
    ms_tape *tape = model->tape;
    if (ms_idle(tape) || !hidden)
        return 0;
    ms_locals f = ms_locals_begin(tape);
    ms_symbols *s = &tape->trace->symbols;
    const ms_dim scored = ms_dim_number(s, model->seq.value - 1);
    const ms_dim tokens = ms_dim_mul(s, model->batch, model->seq);
    const ms_tensor *rows =
        ms_local(&f, ms_view(tape, hidden, MS_SHAPE(tokens, ms_info(tape, hidden)->shape.dims[2])));
    const ms_tensor valids = ms_cut_valids(tape, model->batch, scored);
    const uint32_t previous = ms_scope_enter(tape, head->scope);
    ms_tensor *loss = ms_local(&f, ms_cut_cross_entropy(tape, *rows, head->weight, labels, valids));
    tape->scope = previous;
    if (model->label_count && !ms_idle(tape)) /* the sum is divided by it */
        ms_assign(&f, loss, ms_div(tape, *loss, model->label_count));
    return ms_locals_end(&f, loss);
}
