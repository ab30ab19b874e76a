/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/blocks/losses/tune_loss.h"

#include "model/blocks/blocks.h"
#include "torch/ops/moe/rows.h"
#include "torch/ops/ops.h"

enum { PIECES = 8 };

/* Hidden states of the tokens that have a label, and those labels. */
typedef struct scored {
    ms_tensor *states, *labels;
} scored;

/* cross_entropy(head(hidden).float(), labels, reduction="sum"), with bound logits */
static ms_tensor piece_loss(ms_model *model, const ms_linear_module *head, ms_tensor hidden,
                            ms_tensor labels)
{
    ms_tape *tape = model->tape;
    ms_locals f = ms_locals_begin(tape);
    const ms_tensor *logits = ms_local(&f, ms_linear_call(model, head, hidden));
    const ms_tensor *scores = ms_local(&f, ms_to(tape, *logits, MS_DTYPE_F32));
    ms_tensor *loss = ms_local(&f, ms_cross_entropy(tape, *scores, labels));
    return ms_locals_end(&f, loss);
}

/* mask_inputs(): rows by index_select, where every token has a label */
static scored mask_inputs(ms_model *model, ms_locals *f, ms_tensor rows, ms_tensor labels)
{
    ms_tape *tape = model->tape;
    const ms_dim tokens = ms_info(tape, labels)->shape.dims[0];
    ms_locals inner = ms_locals_begin(tape);
    const ms_tensor *found =
        ms_local(&inner, ms_nonzero(tape, &ms_info(tape, labels)->shape, true, tokens));
    const ms_tensor *indices =
        ms_local(&inner, ms_idle(tape) ? 0 : ms_view(tape, *found, MS_SHAPE(tokens)));
    const scored out = {ms_local(f, ms_select_rows(tape, rows, *indices)),
                        ms_local(f, ms_select_rows(tape, labels, *indices))};
    ms_locals_end(&inner, NULL);
    return out;
}

/* tensor_split(8): the first ones have one row more. */
static ms_dim rows_of(const ms_model *model, ms_tensor states, uint32_t piece)
{
    ms_tape *tape = model->tape;
    uint64_t rows = ms_info(tape, states)->shape.dims[0].value;
    return ms_dim_number(&tape->trace->symbols, rows / PIECES + (piece < rows % PIECES));
}

/* Both tuples of views exist until the loss is there. */
static ms_tensor sum_pieces(ms_model *model, const ms_linear_module *head, const scored *all)
{
    ms_tape *tape = model->tape;
    ms_tensor *states[PIECES], *labels[PIECES];
    ms_locals f = ms_locals_begin(tape);
    for (uint32_t i = 0; i < PIECES && !ms_idle(tape); i++)
        states[i] = ms_local(&f, ms_narrow(tape, *all->states, 0, rows_of(model, *all->states, i)));
    for (uint32_t i = 0; i < PIECES && !ms_idle(tape); i++)
        labels[i] = ms_local(&f, ms_narrow(tape, *all->labels, 0, rows_of(model, *all->labels, i)));
    ms_tensor *total = ms_local(&f, 0);
    for (uint32_t i = 0; i < PIECES && !ms_idle(tape); i++) {
        ms_tensor loss = piece_loss(model, head, *states[i], *labels[i]);
        ms_assign(&f, total, i ? ms_add(tape, *total, loss) : loss);
    }
    return ms_locals_end(&f, total);
}

ms_tensor ms_tune_loss(ms_model *model, const ms_linear_module *head, ms_tensor hidden)
{
    ms_tape *tape = model->tape;
    if (ms_idle(tape) || !hidden)
        return 0;
    ms_locals f = ms_locals_begin(tape);
    const ms_dim tokens = ms_dim_mul(&tape->trace->symbols, model->batch, model->seq);
    const ms_tensor *outputs = ms_local(&f, hidden);
    const ms_tensor *shifted =
        ms_local(&f, ms_empty(tape, MS_SHAPE(model->batch, model->seq), MS_DTYPE_I64));
    const ms_tensor *rows = ms_local(
        &f, ms_view(tape, *outputs, MS_SHAPE(tokens, ms_info(tape, hidden)->shape.dims[2])));
    const ms_tensor *labels = ms_local(&f, ms_view(tape, *shifted, MS_SHAPE(tokens)));
    if (ms_idle(tape))
        return ms_locals_end(&f, NULL);
    const scored all = mask_inputs(model, &f, *rows, *labels);
    ms_tensor *total = ms_local(&f, sum_pieces(model, head, &all));
    ms_tensor *loss = ms_local(&f, ms_idle(tape) ? 0 : ms_div_scalar(tape, *total));
    return ms_locals_end(&f, loss);
}
