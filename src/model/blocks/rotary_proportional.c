/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/blocks/rotary_proportional.h"

#include "model/blocks/blocks.h"
#include "torch/ops/ops.h"

/* The frequencies of a share are made, and joined with zeros. */
static ms_tensor proportional(ms_model *model, uint64_t count, uint64_t turned)
{
    ms_tape *tape = model->tape;
    ms_symbols *s = &tape->trace->symbols;
    ms_shape some = MS_SHAPE(ms_dim_number(s, turned));
    ms_tensor range = ms_empty(tape, some, MS_DTYPE_I64);
    ms_tensor wide = ms_empty(tape, some, MS_DTYPE_F32);
    ms_consume(tape, range);
    ms_tensor result = ms_inverse_powers(model, some, wide);
    if (turned == count)
        return result;
    ms_tensor zeros = ms_empty(tape, MS_SHAPE(ms_dim_number(s, count - turned)), MS_DTYPE_F32);
    ms_tensor all = ms_empty(tape, MS_SHAPE(ms_dim_number(s, count)), MS_DTYPE_F32);
    ms_consume(tape, zeros);
    ms_consume(tape, result);
    return all;
}

uint32_t ms_rotary_of_two_new(ms_model *model, uint32_t parent, const bool there[2],
                              const ms_dim counts[2], uint64_t turned, ms_tensor out[4])
{
    ms_tape *tape = model->tape;
    const bool on_host = ms_is_made_on_host(model);
    const ms_dtype dtype = on_host ? model->run->dtype : MS_DTYPE_F32;
    const uint32_t scope = ms_scope_add(tape, parent, "rotary_emb", MS_NONE);
    const uint32_t previous = ms_scope_enter(tape, scope);
    for (int again = 0; again < (on_host ? 1 : 2); again++) /* when weights are initialised */
        for (int i = 0; i < 2; i++) {
            if (!there[i])
                continue;
            const ms_tensor made = on_host  ? ms_empty(tape, MS_SHAPE(counts[i]), dtype)
                                   : i == 0 ? proportional(model, counts[i].value, turned)
                                            : ms_inverse_frequencies(model, counts[i]);
            if (again) {
                ms_consume(tape, made);
                continue;
            }
            out[i] = ms_buffer_of(model, made, "inv_freq");
            out[2 + i] = ms_buffer_new(model, MS_SHAPE(counts[i]), dtype, "inv_freq");
        }
    tape->scope = previous;
    return scope;
}
