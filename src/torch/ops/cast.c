/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Casts: explicit ones, and those of autocast.
 */
#include "torch/ops/ops.h"

static void to_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    out[0] = ms_empty_like(tape, grads[0], (ms_dtype)ms_input_meta(tape, node, 0)->dtype);
}

static const ms_op to_op = {"to", "ToCopyBackward0", to_backward};

ms_tensor ms_to(ms_tape *tape, ms_tensor a, ms_dtype dtype)
{
    if (ms_idle(tape) || ms_info(tape, a)->dtype == dtype)
        return a;
    ms_op_mark mark = ms_op_begin(tape, &to_op);
    uint32_t node = ms_record(tape, &to_op, 1, &a);
    return ms_op_finish(tape, mark, node, 1, &a, ms_empty_like(tape, a, dtype));
}

ms_tensor ms_to_contiguous(ms_tape *tape, ms_tensor a, ms_dtype dtype)
{
    if (ms_idle(tape) || ms_info(tape, a)->dtype == dtype)
        return a;
    ms_op_mark mark = ms_op_begin(tape, &to_op);
    uint32_t node = ms_record(tape, &to_op, 1, &a);
    ms_tensor out = ms_empty(tape, ms_info(tape, a)->shape, dtype);
    return ms_op_finish(tape, mark, node, 1, &a, out);
}

/* ---- autocast ---- */

static bool is_lowered(ms_tape *tape, ms_tensor a)
{
    return tape->has_autocast && a && !ms_idle(tape) && ms_info(tape, a)->dtype == MS_DTYPE_F32 &&
           tape->autocast_dtype != MS_DTYPE_F32;
}

ms_tensor ms_autocast_lower_view(ms_tape *tape, ms_tensor a)
{
    return is_lowered(tape, a) ? ms_to(tape, a, (ms_dtype)tape->autocast_dtype) : a;
}

ms_tensor ms_autocast_lower(ms_tape *tape, ms_tensor a)
{
    if (!is_lowered(tape, a))
        return a;
    uint32_t leaf = ms_info(tape, a)->leaf;
    if (leaf == MS_NONE || !ms_info(tape, a)->requires_grad ||
        tape->parameters.items[leaf].is_captured || tape->parameters.items[leaf].is_view)
        return ms_autocast_lower_view(tape, a);
    if (tape->parameters.items[leaf].cast)
        return tape->parameters.items[leaf].cast;
    ms_tensor cast = ms_to(tape, a, (ms_dtype)tape->autocast_dtype);
    ms_retain(tape, cast);
    tape->parameters.items[leaf].cast = cast;
    if (!ms_vec_push(&tape->casts, (ms_cast){leaf, cast}))
        ms_tape_fail(tape, MS_ERR_NOMEM);
    return cast;
}

ms_tensor ms_autocast_fp32(ms_tape *tape, ms_tensor a)
{
    if (!tape->has_autocast || !a || ms_idle(tape) ||
        !ms_dtype_info_of((ms_dtype)ms_info(tape, a)->dtype)->floating)
        return a;
    return ms_to(tape, a, MS_DTYPE_F32);
}
