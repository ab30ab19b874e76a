/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Liger's kernels (liger-kernel 0.8): norm, gate and rotary embedding in one kernel each. The last
 * two, and the backward of most norms, overwrite their inputs.
 */
#include "torch/ops/liger/liger.h"

#include "torch/autograd/cuda_reduce.h"

static ms_dtype dtype_of(ms_tape *tape, ms_tensor a)
{
    return (ms_dtype)ms_info(tape, a)->dtype;
}

/* What an operator that writes over a tensor yields: a view of it. */
static ms_tensor overwritten(ms_tape *tape, ms_tensor a)
{
    if (ms_idle(tape) || !a)
        return 0;
    const ms_tensor_info info = *ms_info(tape, a);
    return ms_alias(tape, a, info.shape, info.strides);
}

/* ---- RMS norm: the gradient is written over the one that came in ---- */

enum { NORM_X, NORM_WEIGHT };

/* The sum of one row for each multiprocessor, in fp32. */
static ms_tensor norm_weight_gradient(ms_tape *tape, const ms_meta *weight)
{
    uint64_t rows = tape->options.device->multiprocessors;
    ms_tensor sum = ms_empty(tape, weight->shape, MS_DTYPE_F32);
    ms_reduce_buffers buffers =
        ms_cuda_reduce_buffers(tape->options.device, weight->shape.dims[0].value, rows, false);
    ms_tensor partial =
        buffers.partial_bytes ? ms_empty_bytes(tape, buffers.partial_bytes, MS_DTYPE_U8) : 0;
    ms_transient(tape, buffers.semaphore_bytes, MS_DTYPE_I32);
    ms_consume(tape, partial);
    if (weight->dtype == MS_DTYPE_F32 || ms_idle(tape))
        return sum;
    ms_tensor out = ms_empty(tape, weight->shape, (ms_dtype)weight->dtype);
    ms_consume(tape, sum);
    return out;
}

/* What the rows of the weight's gradient are summed up from. */
static ms_tensor norm_weight_parts(ms_tape *tape, const ms_meta *weight)
{
    ms_dim rows = ms_dim_number(&tape->trace->symbols, tape->options.device->multiprocessors);
    return ms_empty(tape, MS_SHAPE(rows, weight->shape.dims[0]), MS_DTYPE_F32);
}

static void run_norm_backward(ms_tape *tape, const ms_node *node, const ms_tensor *grads,
                              ms_tensor *out, bool copies)
{
    ms_tensor copy = ms_contiguous_copy(tape, grads[0]), incoming = copy ? copy : grads[0];
    const ms_meta weight = *ms_input_meta(tape, node, NORM_WEIGHT);
    bool has_weight = ms_node_wants(node, NORM_WEIGHT);
    ms_tensor parts = has_weight ? norm_weight_parts(tape, &weight) : 0;
    ms_tensor own = copies && !ms_idle(tape)
                        ? ms_empty(tape, ms_info(tape, incoming)->shape, dtype_of(tape, incoming))
                        : 0;
    ms_tensor grad = overwritten(tape, own ? own : incoming); /* a view, in either case */
    if (has_weight)
        out[NORM_WEIGHT] = norm_weight_gradient(tape, &weight);
    ms_consume(tape, parts);
    if (ms_node_wants(node, NORM_X))
        out[NORM_X] = grad;
    else
        ms_consume(tape, grad);
    ms_consume(tape, own);
    ms_consume(tape, copy);
}

static void norm_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    run_norm_backward(tape, node, grads, out, false);
}

static void copying_norm_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads,
                                  ms_tensor *out)
{
    run_norm_backward(tape, node, grads, out, true);
}

static const ms_op norm_op = {"liger_rms_norm", "LigerRMSNormFunctionBackward", norm_backward};
static const ms_op copying_norm_op = {"liger_rms_norm", "LigerRMSNormFunctionBackward",
                                      copying_norm_backward};

ms_tensor ms_liger_rms_norm(ms_tape *tape, ms_tensor x, ms_tensor weight, bool copies)
{
    if (ms_idle(tape) || !x) {
        ms_consume(tape, x);
        return 0;
    }
    const ms_op *op = copies ? &copying_norm_op : &norm_op;
    ms_retain(tape, x);
    ms_tensor rows = ms_contiguous(tape, x);
    ms_op_mark mark = ms_op_begin(tape, op);
    ms_tensor inputs[] = {rows, weight};
    uint32_t node = ms_record(tape, op, 2, inputs);
    ms_shape shape = ms_info(tape, rows)->shape;
    ms_tensor out = ms_empty(tape, shape, dtype_of(tape, rows));
    shape.dims[shape.rank - 1] = (ms_dim){.value = 1};
    ms_tensor rstd = ms_empty(tape, shape, MS_DTYPE_F32);
    ms_save(tape, node, rows);
    ms_save(tape, node, rstd);
    ms_consume(tape, rstd);
    out = ms_op_finish(tape, mark, node, 2, inputs, out);
    ms_consume(tape, ms_unown(tape, x));
    return out;
}

/* ---- act(gate) * up: both gradients are written over what was saved ---- */

static void gate_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    ms_consume(tape, ms_contiguous_copy(tape, grads[0]));
    for (uint32_t i = 0; i < 2; i++)
        if (ms_node_wants(node, i))
            out[i] = overwritten(tape, node->saved[i]);
}

static const ms_op silu_op = {"liger_silu_mul", "LigerSiLUMulFunctionBackward", gate_backward};
static const ms_op gelu_op = {"liger_gelu_mul", "LigerGELUMulFunctionBackward", gate_backward};

ms_tensor ms_liger_gate(ms_tape *tape, ms_tensor gate, ms_tensor up, bool is_gelu)
{
    if (ms_idle(tape) || !gate || !up) {
        ms_consume(tape, gate);
        ms_consume(tape, up);
        return 0;
    }
    const ms_op *op = is_gelu ? &gelu_op : &silu_op;
    ms_op_mark mark = ms_op_begin(tape, op);
    ms_tensor inputs[] = {gate, up};
    uint32_t node = ms_record(tape, op, 2, inputs);
    /* Halves of one tensor are copied first. */
    ms_tensor copies[] = {ms_contiguous_copy(tape, gate), ms_contiguous_copy(tape, up)};
    for (uint32_t i = 0; i < 2; i++)
        ms_save(tape, node, copies[i] ? copies[i] : inputs[i]);
    ms_tensor out = ms_empty(tape, ms_info(tape, gate)->shape, dtype_of(tape, gate));
    ms_consume(tape, copies[0]);
    ms_consume(tape, copies[1]);
    return ms_op_finish(tape, mark, node, 2, inputs, out);
}

/* ---- rotary embedding, in place both ways ---- */

/* Its kernel reads [B, S, heads, D]: other layouts are copied. Yields what it rotated. */
static ms_tensor turned(ms_tape *tape, ms_tensor a)
{
    if (ms_idle(tape) || !a)
        return 0;
    ms_tensor_info info = *ms_info(tape, a);
    const uint64_t heads = info.shape.dims[1].value, width = info.shape.dims[3].value;
    const uint64_t length = info.shape.dims[2].value;
    const uint64_t strides[] = {heads * length * width, width, heads * width, 1};
    bool lies_so = true;
    for (uint32_t i = 0; i < 4; i++)
        lies_so = lies_so && (info.shape.dims[i].value == 1 || info.strides[i] == strides[i]);
    if (lies_so)
        return overwritten(tape, a);
    ms_tensor copy = ms_empty_strided(tape, info.shape, strides, (ms_dtype)info.dtype);
    ms_tensor view = overwritten(tape, copy);
    ms_consume(tape, copy);
    return view;
}

static void rope_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    for (uint32_t i = 0; i < 2; i++)
        if (ms_node_wants(node, i) && grads[i])
            out[i] = turned(tape, grads[i]);
}

static const ms_op rope_op = {"liger_rope", "LigerRopeFunctionBackward", rope_backward};

void ms_liger_rope(ms_tape *tape, ms_tensor q, ms_tensor k, ms_tensor cos, ms_tensor sin,
                   ms_tensor out[2])
{
    out[0] = out[1] = 0;
    if (ms_idle(tape) || !q || !k)
        return;
    ms_op_mark mark = ms_op_begin(tape, &rope_op);
    uint32_t node = ms_record(tape, &rope_op, 2, (ms_tensor[]){q, k});
    out[0] = turned(tape, q);
    out[1] = turned(tape, k);
    ms_save(tape, node, cos);
    ms_save(tape, node, sin);
    if (!ms_idle(tape))
        ms_attach(tape, node, 2, out);
    ms_op_operand(tape, mark, q, false);
    ms_op_operand(tape, mark, k, false);
    ms_op_end(tape, mark);
}
