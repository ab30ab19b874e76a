/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Batched matrix products, as by torch.matmul of [B, H, .., M, K] x [B, H, .., K, N]: both sides
 * are reshaped to [B*H*.., ., .], which copies if the layout does not allow a view, then bmm.
 */
#include "torch/ops/ops.h"

/* oneDNN's bfloat16 product wants both sides contiguous. */
static void cpu_scratch(ms_tape *tape, ms_tensor a, ms_tensor b, ms_gemm gemm)
{
    if (!tape->on_cpu || ms_info(tape, a)->dtype != MS_DTYPE_BF16)
        return;
    ms_tensor copies[2] = {0};
    const ms_tensor sides[2] = {a, b};
    for (uint32_t i = 0; i < 2; i++) {
        const ms_tensor_info info = *ms_info(tape, sides[i]);
        if (!ms_is_contiguous(&info))
            copies[i] = ms_empty(tape, info.shape, (ms_dtype)info.dtype);
    }
    ms_cpu_gemm_scratch(tape, MS_DTYPE_BF16, gemm);
    ms_consume(tape, copies[1]);
    ms_consume(tape, copies[0]);
}

/* One product out of a and b. */
static void multiply(ms_tape *tape, ms_tensor a, ms_tensor b)
{
    if (ms_idle(tape))
        return;
    const ms_shape *left = &ms_info(tape, a)->shape;
    const ms_gemm gemm = {.batches = left->dims[0].value,
                          .rows = left->dims[1].value,
                          .inner = left->dims[2].value,
                          .columns = ms_info(tape, b)->shape.dims[2].value,
                          .transposed = ms_info(tape, a)->strides[2] != 1};
    ms_op_product(tape, ms_op_running(tape), gemm);
    cpu_scratch(tape, a, b, (ms_gemm){gemm.batches, gemm.rows, gemm.inner, gemm.columns, false});
}

static ms_tensor swapped(ms_tape *tape, ms_tensor a)
{
    if (ms_idle(tape))
        return 0;
    ms_tensor_info info = *ms_info(tape, a);
    ms_shape shape = MS_SHAPE(info.shape.dims[0], info.shape.dims[2], info.shape.dims[1]);
    uint64_t strides[MS_MAX_RANK] = {info.strides[0], info.strides[2], info.strides[1]};
    return ms_alias(tape, a, shape, strides);
}

/* mat2's gradient first. Autocast's casts are their own nodes, so dtypes agree here. */
static void bmm_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    ms_dtype dtype = (ms_dtype)ms_info(tape, grads[0])->dtype;
    const ms_shape a = ms_input_meta(tape, node, 0)->shape, b = ms_input_meta(tape, node, 1)->shape;
    double flops = 2.0 * (double)ms_elements(&a) * (double)b.dims[2].value;
    uint32_t slot = 0;
    ms_tensor right = ms_node_wants(node, 0) ? node->saved[slot++] : 0;
    ms_tensor left = ms_node_wants(node, 1) ? node->saved[slot] : 0;
    if (left) {
        out[1] = ms_empty(tape, b, dtype);
        ms_tensor turned = swapped(tape, left);
        multiply(tape, turned, grads[0]);
        ms_consume(tape, turned);
    }
    ms_workspace_use(tape, MS_PRODUCT_PLAIN);
    if (right) {
        out[0] = ms_empty(tape, a, dtype);
        ms_tensor turned = swapped(tape, right);
        multiply(tape, grads[0], turned);
        ms_consume(tape, turned);
    }
    ms_op_work(tape, ms_op_running(tape),
               flops * ((double)ms_node_wants(node, 0) + (double)ms_node_wants(node, 1)), 0, dtype);
}

static const ms_op bmm_op = {"bmm", "BmmBackward0", bmm_backward};

static ms_tensor bmm(ms_tape *tape, ms_tensor a, ms_tensor b)
{
    if (ms_idle(tape) || !a || !b) {
        ms_consume(tape, a);
        ms_consume(tape, b);
        return 0;
    }
    ms_op_mark mark = ms_op_begin(tape, &bmm_op);
    ms_tensor inputs[] = {a, b};
    uint32_t node = ms_record(tape, &bmm_op, 2, inputs);
    bool save_b = ms_needs_grad(tape, a), save_a = ms_needs_grad(tape, b);
    if (save_b)
        ms_save(tape, node, b);
    if (save_a)
        ms_save(tape, node, a);
    ms_shape shape = ms_info(tape, a)->shape;
    double flops = 2.0 * (double)ms_elements(&shape);
    shape.dims[2] = ms_info(tape, b)->shape.dims[2];
    flops *= (double)shape.dims[2].value;
    ms_tensor out = ms_empty(tape, shape, (ms_dtype)ms_info(tape, a)->dtype);
    ms_workspace_use(tape, MS_PRODUCT_PLAIN);
    multiply(tape, a, b);
    ms_op_work(tape, mark, flops, 0, (ms_dtype)ms_info(tape, a)->dtype);
    return ms_op_finish(tape, mark, node, 2, inputs, out);
}

ms_tensor ms_bmm(ms_tape *tape, ms_tensor a, ms_tensor b)
{
    if (ms_idle(tape) || !a || !b) {
        ms_consume(tape, a);
        ms_consume(tape, b);
        return 0;
    }
    ms_retain(tape, a);
    ms_retain(tape, b);
    ms_tensor cast_b = ms_autocast_lower(tape, b);
    ms_tensor cast_a = ms_autocast_lower(tape, a);
    ms_tensor out = bmm(tape, cast_a, cast_b);
    ms_consume(tape, ms_unown(tape, a));
    ms_consume(tape, ms_unown(tape, b));
    return out;
}

/* ---- base + c * product: each gradient is a product, and then that times c ---- */

static ms_tensor scaled_product(ms_tape *tape, ms_shape shape, ms_tensor a, ms_tensor b)
{
    ms_tensor out = ms_empty(tape, shape, (ms_dtype)ms_info(tape, a)->dtype);
    ms_workspace_use(tape, MS_PRODUCT_PLAIN);
    multiply(tape, a, b);
    return ms_idle(tape) ? 0 : ms_scale(tape, out);
}

static void baddbmm_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    const ms_shape a = ms_input_meta(tape, node, 0)->shape, b = ms_input_meta(tape, node, 1)->shape;
    uint32_t slot = 0;
    ms_tensor right = ms_node_wants(node, 0) ? node->saved[slot++] : 0;
    ms_tensor left = ms_node_wants(node, 1) ? node->saved[slot] : 0;
    if (right) {
        ms_tensor turned = swapped(tape, right);
        out[0] = scaled_product(tape, a, grads[0], turned);
        ms_consume(tape, turned);
    }
    if (left && !ms_idle(tape)) {
        ms_tensor turned = swapped(tape, left);
        out[1] = scaled_product(tape, b, turned, grads[0]);
        ms_consume(tape, turned);
    }
}

static const ms_op baddbmm_op = {"baddbmm", "BaddbmmBackward0", baddbmm_backward};

ms_tensor ms_baddbmm(ms_tape *tape, ms_tensor base, ms_tensor a, ms_tensor b)
{
    if (ms_idle(tape) || !base || !a || !b)
        return 0;
    ms_tensor lowered = ms_autocast_lower(tape, base);
    ms_op_mark mark = ms_op_begin(tape, &baddbmm_op);
    ms_tensor inputs[] = {a, b, lowered};
    uint32_t node = ms_record(tape, &baddbmm_op, 2, inputs);
    if (ms_needs_grad(tape, a))
        ms_save(tape, node, b);
    if (ms_needs_grad(tape, b))
        ms_save(tape, node, a);
    ms_shape shape = ms_info(tape, a)->shape;
    double flops = 2.0 * (double)ms_elements(&shape);
    shape.dims[2] = ms_info(tape, b)->shape.dims[2];
    ms_tensor out = ms_empty(tape, shape, (ms_dtype)ms_info(tape, a)->dtype);
    ms_workspace_use(tape, MS_PRODUCT_PLAIN);
    multiply(tape, a, b);
    ms_op_work(tape, mark, flops * (double)shape.dims[2].value, 0,
               (ms_dtype)ms_info(tape, a)->dtype);
    return ms_op_finish(tape, mark, node, 3, inputs, out);
}

/* [B, H, ., .] as [B*H, ., .]; one head may stand for all. */
static ms_tensor as_batches(ms_tape *tape, ms_tensor a, ms_dim heads)
{
    if (ms_idle(tape) || !a)
        return a;
    ms_shape s = ms_info(tape, a)->shape;
    if (s.dims[1].value != heads.value) {
        s.dims[1] = heads;
        a = ms_expand(tape, a, s);
    }
    ms_dim batches = s.dims[0];
    for (uint32_t i = 1; i + 2 < s.rank; i++)
        batches = ms_dim_mul(&tape->trace->symbols, batches, s.dims[i]);
    return ms_reshape(tape, a, MS_SHAPE(batches, s.dims[s.rank - 2], s.dims[s.rank - 1]));
}

ms_tensor ms_matmul(ms_tape *tape, ms_tensor a, ms_tensor b)
{
    if (ms_idle(tape) || !a || !b) {
        ms_consume(tape, a);
        ms_consume(tape, b);
        return 0;
    }
    ms_retain(tape, a);
    ms_retain(tape, b);
    ms_tensor cast_b = ms_autocast_lower(tape, b);
    ms_tensor cast_a = ms_autocast_lower(tape, a);
    ms_shape shape = ms_info(tape, a)->shape;
    shape.dims[shape.rank - 1] = ms_info(tape, b)->shape.dims[shape.rank - 1];
    ms_retain(tape, cast_a);
    ms_retain(tape, cast_b);
    ms_tensor a3 = as_batches(tape, cast_a, shape.dims[1]);
    ms_tensor b3 = as_batches(tape, cast_b, shape.dims[1]);
    ms_retain(tape, a3);
    ms_retain(tape, b3);
    ms_tensor product = bmm(tape, a3, b3);
    ms_release(tape, b3);
    ms_release(tape, a3);
    ms_tensor out = ms_view(tape, product, shape);
    ms_release(tape, cast_a);
    ms_release(tape, cast_b);
    ms_consume(tape, ms_unown(tape, a));
    ms_consume(tape, ms_unown(tape, b));
    return out;
}
