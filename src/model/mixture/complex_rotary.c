/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/mixture/complex_rotary.h"

#include "model/blocks/blocks.h"
#include "torch/ops/ops.h"

void ms_complex_rotary_tables(ms_model *model, uint32_t scope, ms_tensor inv_freq,
                              ms_tensor position_ids, ms_dtype dtype, ms_tensor out[2])
{
    (void)dtype;
    ms_rotary_module rotary;
    ms_rotary_enter(model, scope, inv_freq, position_ids, &rotary);
    ms_locals *f = &rotary.frame;
    ms_tensor *turns = ms_local(f, ms_polar(model->tape, *rotary.angles));
    ms_assign(f, turns, ms_mul_scalar(model->tape, *turns));
    out[0] = ms_locals_end(f, turns);
    out[1] = 0;
    ms_rotary_leave(model, &rotary);
}

ms_tensor ms_as_complex(ms_tape *tape, ms_tensor x)
{
    if (ms_idle(tape) || !x)
        return 0;
    ms_shape shape = ms_info(tape, x)->shape;
    uint32_t last = shape.rank - 1;
    shape.dims[last] = ms_dim_half(&tape->trace->symbols, shape.dims[last]);
    shape.dims[shape.rank++] = ms_dim_number(&tape->trace->symbols, 2);
    return ms_view_as_complex(tape, ms_reshape(tape, ms_to(tape, x, MS_DTYPE_F32), shape));
}

ms_tensor ms_turn_pairs(ms_tape *tape, ms_tensor x, ms_tensor turns)
{
    ms_tensor turned = ms_view_as_real(tape, ms_mul_complex(tape, x, turns));
    if (ms_idle(tape) || !turned)
        return 0;
    ms_shape shape = ms_info(tape, turned)->shape;
    shape.rank--;
    shape.dims[shape.rank - 1] =
        ms_dim_mul(&tape->trace->symbols, shape.dims[shape.rank - 1], shape.dims[shape.rank]);
    return ms_reshape(tape, turned, shape);
}

ms_tensor ms_turn_complex(ms_tape *tape, ms_tensor x, ms_tensor turns, ms_tensor like)
{
    ms_tensor turned = ms_turn_pairs(tape, x, turns);
    return ms_idle(tape) ? 0 : ms_to(tape, turned, (ms_dtype)ms_info(tape, like)->dtype);
}
