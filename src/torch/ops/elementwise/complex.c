/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Pairs of fp32 numbers as complex ones.
 */
#include "torch/ops/ops.h"

/* The same bytes as elements of another type; `base` goes if it floats and is not `kept`. */
static ms_tensor seen_as(ms_tape *tape, ms_tensor base, ms_tensor kept, const ms_tensor_info *as)
{
    if (ms_idle(tape))
        return 0;
    ms_tensor out = ms_alias(tape, base, as->shape, as->strides);
    if (!ms_idle(tape))
        ms_info(tape, out)->dtype = as->dtype;
    if (base != kept)
        ms_consume(tape, base);
    return out;
}

/* [.., 2] of fp32 as [..] */
static ms_tensor as_complex(ms_tape *tape, ms_tensor a, ms_tensor kept)
{
    ms_tensor_info info = *ms_info(tape, a);
    info.shape.rank--;
    for (uint32_t i = 0; i < info.shape.rank; i++)
        info.strides[i] /= 2;
    info.dtype = MS_DTYPE_C64;
    return seen_as(tape, a, kept, &info);
}

/* [..] as [.., 2] of fp32 */
static ms_tensor as_real(ms_tape *tape, ms_tensor a, ms_tensor kept)
{
    ms_tensor_info info = *ms_info(tape, a);
    uint32_t last = info.shape.rank++;
    for (uint32_t i = 0; i < last; i++)
        info.strides[i] *= 2;
    info.shape.dims[last] = ms_dim_number(&tape->trace->symbols, 2);
    info.strides[last] = 1;
    info.dtype = MS_DTYPE_F32;
    return seen_as(tape, a, kept, &info);
}

static ms_tensor contiguous(ms_tape *tape, ms_tensor grad)
{
    const ms_tensor_info info = *ms_info(tape, grad);
    return ms_is_contiguous(&info) ? grad : ms_empty(tape, info.shape, (ms_dtype)info.dtype);
}

/* ---- views ---- */

static void view_as_complex_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads,
                                     ms_tensor *out)
{
    (void)node;
    ms_tensor whole = contiguous(tape, grads[0]);
    if (whole)
        out[0] = as_real(tape, whole, grads[0]);
}

static const ms_op view_as_complex_op = {"view_as_complex", "ViewAsComplexBackward0",
                                         view_as_complex_backward};

ms_tensor ms_view_as_complex(ms_tape *tape, ms_tensor a)
{
    if (ms_idle(tape) || !a)
        return 0;
    uint32_t node = ms_record(tape, &view_as_complex_op, 1, &a);
    ms_tensor out = as_complex(tape, a, a);
    ms_attach(tape, node, 1, &out);
    ms_consume(tape, a);
    return out;
}

static void view_as_real_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads,
                                  ms_tensor *out)
{
    (void)node;
    ms_tensor whole = contiguous(tape, grads[0]);
    if (whole)
        out[0] = as_complex(tape, whole, grads[0]);
}

static const ms_op view_as_real_op = {"view_as_real", "ViewAsRealBackward0", view_as_real_backward};

ms_tensor ms_view_as_real(ms_tape *tape, ms_tensor a)
{
    if (ms_idle(tape) || !a)
        return 0;
    uint32_t node = ms_record(tape, &view_as_real_op, 1, &a);
    ms_tensor out = as_real(tape, a, a);
    ms_attach(tape, node, 1, &out);
    ms_consume(tape, a);
    return out;
}

/* ---- products ---- */

/* grad * conj(factor): the conjugate is made first. */
static void mul_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    ms_tensor factor = node->saved[0];
    ms_tensor conjugate = ms_empty_like(tape, factor, MS_DTYPE_C64);
    out[0] = ms_elementwise_out(tape, 2, (ms_tensor[]){grads[0], factor}, MS_DTYPE_C64);
    ms_consume(tape, conjugate);
}

static const ms_op mul_op = {"mul", "MulBackward0", mul_backward};

ms_tensor ms_mul_complex(ms_tape *tape, ms_tensor a, ms_tensor factor)
{
    if (ms_idle(tape) || !a || !factor)
        return 0;
    ms_op_mark mark = ms_op_begin(tape, &mul_op);
    ms_tensor inputs[] = {a, factor};
    uint32_t node = ms_record(tape, &mul_op, 2, inputs);
    ms_save(tape, node, factor);
    return ms_op_finish(tape, mark, node, 2, inputs,
                        ms_elementwise_out(tape, 2, inputs, MS_DTYPE_C64));
}

/* ---- polar(ones_like(angle), angle) ---- */

static const ms_op polar_op = {"polar", NULL, NULL};

ms_tensor ms_polar(ms_tape *tape, ms_tensor angle)
{
    if (ms_idle(tape) || !angle)
        return 0;
    ms_op_mark mark = ms_op_begin(tape, &polar_op);
    ms_tensor ones = ms_empty_like(tape, angle, MS_DTYPE_F32);
    ms_tensor out = ms_idle(tape) ? 0 : ms_empty(tape, ms_info(tape, angle)->shape, MS_DTYPE_C64);
    ms_consume(tape, ones);
    return ms_op_finish(tape, mark, MS_NONE, 1, &angle, out);
}
