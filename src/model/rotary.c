/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Positions and the rotary embedding.
 */
#include "model/blocks.h"
#include "ops/ops.h"

ms_tensor ms_position_ids(ms_model *model)
{
    ms_tape *tape = model->tape;
    ms_tensor range = ms_empty(tape, MS_SHAPE(model->seq), MS_DTYPE_I64);
    return ms_unsqueeze(tape, ms_add_scalar(tape, range), 0);
}

void ms_rotary_call(ms_model *model, uint32_t scope, ms_tensor inv_freq, ms_tensor position_ids,
                    ms_dtype dtype, ms_tensor out[2])
{
    ms_tape *tape = model->tape;
    bool grad_enabled = tape->grad_enabled;
    uint32_t previous = ms_scope_enter(tape, scope);
    tape->grad_enabled = false;
    ms_frame f = ms_frame_begin(tape);
    ms_tensor positions = ms_to(tape, ms_unsqueeze(tape, position_ids, 2), MS_DTYPE_F32);
    ms_tensor frequencies = ms_to(tape, inv_freq, MS_DTYPE_F32);
    ms_tensor *freqs = ms_local(&f, ms_mul(tape, positions, frequencies));
    ms_tensor *emb = ms_local(&f, ms_cat2(tape, *freqs, *freqs, 2));
    ms_tensor *cos = ms_local(&f, ms_mul_scalar(tape, ms_cos(tape, *emb)));
    ms_tensor *sin = ms_local(&f, ms_mul_scalar(tape, ms_sin(tape, *emb)));
    out[0] = ms_to(tape, *cos, dtype);
    out[1] = ms_to(tape, *sin, dtype);
    ms_retain(tape, out[0]);
    ms_retain(tape, out[1]);
    ms_frame_end(&f, NULL);
    ms_unown(tape, out[0]);
    ms_unown(tape, out[1]);
    tape->grad_enabled = grad_enabled;
    tape->scope = previous;
}

static ms_tensor rotate_half(ms_tape *tape, ms_tensor x)
{
    ms_frame f = ms_frame_begin(tape);
    ms_tensor *lower = ms_local(&f, ms_slice_half(tape, x, false));
    ms_tensor *upper = ms_local(&f, ms_slice_half(tape, x, true));
    ms_tensor *rotated = ms_local(&f, ms_cat2(tape, ms_neg(tape, *upper), *lower, 3));
    return ms_frame_end(&f, rotated);
}

/* cos and sin come as [1, 1, S, D] */
ms_tensor ms_apply_rotary(ms_model *model, ms_tensor x, ms_tensor cos, ms_tensor sin)
{
    ms_tape *tape = model->tape;
    ms_tensor plain = ms_mul(tape, x, cos);
    ms_tensor turned = ms_mul(tape, rotate_half(tape, x), sin);
    return ms_add(tape, plain, turned);
}
