/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/blocks/rotary_halves.h"

#include "model/blocks/blocks.h"
#include "torch/ops/ops.h"

void ms_rotary_half_tables(ms_model *model, uint32_t scope, ms_tensor inv_freq,
                           ms_tensor position_ids, ms_dtype dtype, ms_tensor out[2])
{
    ms_tape *tape = model->tape;
    ms_rotary_module rotary;
    ms_rotary_enter(model, scope, inv_freq, position_ids, &rotary);
    ms_locals *f = &rotary.frame;
    ms_tensor *cos = ms_local(f, ms_mul_scalar(tape, ms_cos(tape, *rotary.angles)));
    ms_tensor *sin = ms_local(f, ms_mul_scalar(tape, ms_sin(tape, *rotary.angles)));
    ms_tensor cast = ms_to(tape, *cos, dtype);
    ms_return_both(f, cast, ms_to(tape, *sin, dtype), out);
    ms_rotary_leave(model, &rotary);
}

static ms_tensor turn(ms_tape *tape, ms_tensor x, ms_tensor cos, ms_tensor sin)
{
    if (ms_idle(tape) || !x)
        return 0;
    ms_tensor halves[2];
    ms_dim half = ms_dim_half(&tape->trace->symbols, ms_info(tape, x)->shape.dims[3]);
    ms_locals f = ms_locals_begin(tape);
    ms_split(tape, x, 3, half, 2, halves);
    ms_tensor *lower = ms_local(&f, halves[0]), *upper = ms_local(&f, halves[1]);
    ms_tensor product = ms_mul(tape, *lower, cos);
    ms_tensor *first = ms_local(&f, ms_sub(tape, product, ms_mul(tape, *upper, sin)));
    product = ms_mul(tape, *upper, cos);
    ms_tensor *second = ms_local(&f, ms_add(tape, product, ms_mul(tape, *lower, sin)));
    ms_tensor out = ms_cat2(tape, *first, *second, 3);
    ms_retain(tape, out);
    ms_locals_end(&f, NULL);
    return ms_unown(tape, out);
}

void ms_rotary_halves(ms_model *model, ms_tensor q, ms_tensor k, ms_tensor cos, ms_tensor sin,
                      ms_tensor out[2])
{
    ms_tape *tape = model->tape;
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *c = ms_local(&f, ms_unsqueeze(tape, cos, 1));
    ms_tensor *s = ms_local(&f, ms_unsqueeze(tape, sin, 1));
    ms_tensor *q_embed = ms_local(&f, turn(tape, q, *c, *s));
    ms_tensor *k_embed = ms_local(&f, turn(tape, k, *c, *s));
    ms_return_both(&f, *q_embed, *k_embed, out);
}
