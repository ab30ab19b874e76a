/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "torch/ops/attention/bias.h"

#include "torch/ops/attention/attention_math.h"
#include "torch/ops/ops.h"

/* ---- where ---- */

/* where(condition, grad, 0): the number is a tensor for the call. */
static void where_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    ms_dtype dtype = (ms_dtype)ms_info(tape, grads[0])->dtype;
    ms_tensor zero = ms_empty_bytes(tape, ms_dtype_bytes(dtype), dtype);
    out[0] = ms_elementwise_out(tape, 2, (ms_tensor[]){node->saved[0], grads[0]}, dtype);
    ms_consume(tape, zero);
}

static const ms_op where_op = {"where", "WhereBackward0", where_backward};

ms_tensor ms_where_number(ms_tape *tape, ms_tensor condition, ms_tensor a)
{
    if (ms_idle(tape) || !condition || !a)
        return 0;
    ms_op_mark mark = ms_op_begin(tape, &where_op);
    uint32_t node = ms_record(tape, &where_op, 1, &a);
    ms_dtype dtype = (ms_dtype)ms_info(tape, a)->dtype;
    ms_save(tape, node, condition);
    ms_tensor number = ms_empty_bytes(tape, ms_dtype_bytes(dtype), dtype);
    ms_tensor out = ms_elementwise_out(tape, 2, (ms_tensor[]){condition, a}, dtype);
    ms_consume(tape, number);
    return ms_op_finish(tape, mark, node, 2, (ms_tensor[]){a, condition}, out);
}

/* ---- for the kernels ---- */

enum { BIAS_ALIGNMENT = 8, GRADIENT_ALIGNMENT = 16 };

/* Pads the rows and cuts them again, which leaves them aligned; then one for every head and
 * sequence. */
static ms_tensor differentiable_bias(ms_tape *tape, ms_tensor q, ms_tensor k, ms_tensor mask)
{
    ms_dim keys = ms_info(tape, mask)->shape.dims[3];
    ms_tensor bias = mask;
    if (!tape->on_cpu && keys.value % BIAS_ALIGNMENT != 0) {
        ms_dim wide = ms_dim_ceil(&tape->trace->symbols, keys, BIAS_ALIGNMENT);
        bias = ms_narrow(tape, ms_pad(tape, mask, 3, wide), 3, keys);
    }
    const ms_shape queries = ms_info(tape, q)->shape;
    ms_shape all = MS_SHAPE(queries.dims[0], queries.dims[1], queries.dims[2],
                            ms_info(tape, k)->shape.dims[2]);
    return ms_expand(tape, bias, all);
}

ms_tensor ms_attention_bias(ms_tape *tape, ms_tensor q, ms_tensor k, ms_tensor mask)
{
    if (!mask || ms_idle(tape))
        return 0;
    if (ms_needs_grad(tape, mask))
        return differentiable_bias(tape, q, k, mask);
    ms_tensor bias = ms_mask_as_bias(tape, q, mask);
    if (ms_idle(tape) || tape->on_cpu)
        return bias;
    ms_shape shape = ms_info(tape, bias)->shape;
    if (shape.dims[3].value % BIAS_ALIGNMENT == 0)
        return bias;
    ms_dtype dtype = (ms_dtype)ms_info(tape, bias)->dtype;
    shape.dims[3] = ms_dim_ceil(&tape->trace->symbols, shape.dims[3], BIAS_ALIGNMENT);
    ms_tensor wide = ms_empty(tape, shape, dtype);
    ms_consume(tape, bias);
    return wide;
}

ms_tensor ms_efficient_bias_gradient(ms_tape *tape, const ms_shape *bias, ms_dtype dtype)
{
    ms_shape shape = *bias;
    shape.dims[3] = ms_dim_ceil(&tape->trace->symbols, shape.dims[3], GRADIENT_ALIGNMENT);
    ms_tensor whole = ms_empty(tape, shape, dtype);
    if (ms_idle(tape))
        return 0;
    const ms_tensor_info info = *ms_info(tape, whole);
    ms_tensor part = ms_alias(tape, whole, *bias, info.strides);
    ms_consume(tape, whole);
    return part;
}
