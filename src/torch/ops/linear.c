/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Linear layers: y = x Wᵀ + b on [..., in], and GPT-2's transposed one. One node represents
 * PyTorch's chain of view, mm or addmm, transpose and view; the views need no memory, but gradients
 * become views by them.
 */
#include "torch/ops/ops.h"
#include "torch/autograd/engine.h"

/* Inputs of the nodes, in the order in which their gradients arrive: a gradient of addmm's input
 * still has to pass a view, after the weight's. */
enum { MM_X, MM_WEIGHT };
enum { ADDMM_BIAS, ADDMM_WEIGHT, ADDMM_X };
enum { OWN_X, OWN_WEIGHT, OWN_BIAS };

static double product_flops(ms_tape *tape, ms_tensor x, ms_dim columns)
{
    return 2.0 * (double)ms_elements(&ms_info(tape, x)->shape) * (double)columns.value;
}

/* The gradient of a linear output as rows: PyTorch reshapes it, which may copy; then the copy takes
 * its place and the original goes. */
static void gradient_as_rows(ms_tape *tape, ms_tensor *grad)
{
    ms_tensor_info info = *ms_info(tape, *grad);
    uint32_t last = info.shape.rank - 1;
    ms_dim rows = {.value = 1};
    for (uint32_t i = 0; i < last; i++)
        rows.value *= info.shape.dims[i].value;
    ms_shape flat = MS_SHAPE(rows, info.shape.dims[last]);
    uint64_t strides[MS_MAX_RANK];
    if (ms_view_strides(&info, &flat, strides))
        return;
    ms_tensor copy = ms_empty(tape, info.shape, (ms_dtype)info.dtype);
    ms_retain(tape, copy);
    ms_release(tape, *grad);
    *grad = copy;
}

static void set_view(ms_tape *tape, ms_tensor tensor)
{
    if (tensor)
        ms_info(tape, tensor)->is_view = true;
}

static uint64_t rows_of(const ms_shape *shape)
{
    return ms_elements(shape) / shape->dims[shape->rank - 1].value;
}

ms_gemm ms_rows_times(const ms_shape *shape, uint64_t columns)
{
    if (shape->rank == 0) /* that of no tensor, after a failure */
        return (ms_gemm){0};
    return (ms_gemm){.batches = 1,
                     .rows = rows_of(shape),
                     .inner = shape->dims[shape->rank - 1].value,
                     .columns = columns};
}

static ms_tensor gradient(ms_tape *tape, const ms_node *node, uint32_t input, ms_tensor grad,
                          ms_gemm gemm)
{
    ms_dtype dtype = (ms_dtype)ms_info(tape, grad)->dtype;
    ms_tensor out = ms_empty(tape, ms_input_meta(tape, node, input)->shape, dtype);
    ms_workspace_use(tape, MS_PRODUCT_PLAIN);
    ms_op_product(tape, ms_op_running(tape), gemm);
    ms_cpu_gemm_scratch(tape, dtype, gemm);
    return out;
}

/* dX = dY W: rows of dY. */
static ms_tensor input_gradient(ms_tape *tape, const ms_node *node, uint32_t x_input,
                                ms_tensor grad)
{
    const ms_shape *x = &ms_input_meta(tape, node, x_input)->shape;
    return gradient(tape, node, x_input, grad,
                    ms_rows_times(&ms_info(tape, grad)->shape, x->dims[x->rank - 1].value));
}

/* dW has the weight's shape: its rows come from a transposed factor. */
static ms_tensor weight_gradient(ms_tape *tape, const ms_node *node, uint32_t weight_input,
                                 ms_tensor grad)
{
    const ms_shape *weight = &ms_input_meta(tape, node, weight_input)->shape;
    return gradient(tape, node, weight_input, grad,
                    (ms_gemm){.batches = 1,
                              .rows = weight->dims[0].value,
                              .inner = rows_of(&ms_info(tape, grad)->shape),
                              .columns = weight->dims[1].value,
                              .transposed = true});
}

static void backward_work(ms_tape *tape, const ms_node *node, uint32_t x_input,
                          uint32_t weight_input, ms_tensor grad)
{
    double products =
        (double)ms_node_wants(node, x_input) + (double)ms_node_wants(node, weight_input);
    const ms_shape *x = &ms_input_meta(tape, node, x_input)->shape;
    ms_op_work(tape, ms_op_running(tape),
               products * product_flops(tape, grad, x->dims[x->rank - 1]), 0,
               (ms_dtype)ms_info(tape, grad)->dtype);
}

/* mm: the weight's gradient first (mat2 before self). */
static void mm_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    gradient_as_rows(tape, &grads[0]);
    if (ms_node_wants(node, MM_WEIGHT))
        out[MM_WEIGHT] = weight_gradient(tape, node, MM_WEIGHT, grads[0]);
    if (ms_node_wants(node, MM_X))
        out[MM_X] = input_gradient(tape, node, MM_X, grads[0]);
    if (ms_input_meta(tape, node, MM_X)->shape.rank > 2)
        set_view(tape, out[MM_X]);
    set_view(tape, out[MM_WEIGHT]);
    backward_work(tape, node, MM_X, MM_WEIGHT, grads[0]);
}

/* addmm: mat1 (the input), mat2 (the weight), then the bias, which the engine sums. */
static void addmm_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    gradient_as_rows(tape, &grads[0]);
    if (ms_node_wants(node, ADDMM_X))
        out[ADDMM_X] = input_gradient(tape, node, ADDMM_X, grads[0]);
    if (ms_node_wants(node, ADDMM_WEIGHT))
        out[ADDMM_WEIGHT] = weight_gradient(tape, node, ADDMM_WEIGHT, grads[0]);
    if (ms_node_wants(node, ADDMM_BIAS))
        out[ADDMM_BIAS] = grads[0];
    if (ms_input_meta(tape, node, ADDMM_X)->shape.rank > 2)
        set_view(tape, out[ADDMM_X]);
    backward_work(tape, node, ADDMM_X, ADDMM_WEIGHT, grads[0]);
}

static void linear_bias_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads,
                                 ms_tensor *out)
{
    addmm_backward(tape, node, grads, out);
    set_view(tape, out[ADDMM_WEIGHT]);
}

/* DeepSpeed's function in the place of F.linear, LinearFunctionForZeroStage3: the gradients of
 * input, weight and bias, in this order; each is a product, not what was transposed twice. */
static void own_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    gradient_as_rows(tape, &grads[0]);
    if (ms_node_wants(node, OWN_X))
        out[OWN_X] = input_gradient(tape, node, OWN_X, grads[0]);
    if (ms_node_wants(node, OWN_WEIGHT))
        out[OWN_WEIGHT] = weight_gradient(tape, node, OWN_WEIGHT, grads[0]);
    if (node->edge_count > OWN_BIAS && ms_node_wants(node, OWN_BIAS))
        out[OWN_BIAS] = grads[0];
    backward_work(tape, node, OWN_X, OWN_WEIGHT, grads[0]);
}

static const ms_op own_op = {"mm", "MmBackward0", own_backward};
static const ms_op own_bias_op = {"addmm", "AddmmBackward0", own_backward};
static const ms_op mm_op = {"mm", "MmBackward0", mm_backward};
static const ms_op addmm_op = {"addmm", "AddmmBackward0", addmm_backward};
static const ms_op linear_bias_op = {"addmm", "AddmmBackward0", linear_bias_backward};

static bool is_own(const ms_op *op)
{
    return op == &own_op || op == &own_bias_op;
}

/* Consumes all three (casts of autocast float, parameters don't). */
/* A bias is added by the product itself for a matrix, or what is one without a copy. */
static ms_product kind_of(ms_tape *tape, ms_tensor x, ms_tensor bias)
{
    return bias && (ms_info(tape, x)->shape.rank != 3 || ms_is_contiguous(ms_info(tape, x)))
               ? MS_PRODUCT_BIASED
               : MS_PRODUCT_PLAIN;
}

static uint32_t record(ms_tape *tape, const ms_op *op, ms_tensor x, ms_tensor weight,
                       ms_tensor bias)
{
    if (!bias)
        return ms_record(tape, op, 2, (ms_tensor[]){x, weight});
    return is_own(op) ? ms_record(tape, op, 3, (ms_tensor[]){x, weight, bias})
                      : ms_record(tape, op, 3, (ms_tensor[]){bias, weight, x});
}

static ms_tensor product(ms_tape *tape, const ms_op *op, ms_tensor x, ms_tensor weight,
                         ms_tensor bias, ms_dim columns)
{
    if (ms_idle(tape) || !x) {
        ms_consume(tape, x);
        return 0;
    }
    ms_op_mark mark = ms_op_begin(tape, op);
    uint32_t node = record(tape, op, x, weight, bias);
    bool save_x = ms_needs_grad(tape, weight), save_weight = ms_needs_grad(tape, x);
    ms_tensor first = bias ? x : weight, second = bias ? weight : x;
    if ((bias ? save_x : save_weight) && !is_own(op))
        ms_save(tape, node, first);
    if ((bias ? save_weight : save_x) && !is_own(op))
        ms_save(tape, node, second);
    ms_shape shape = ms_info(tape, x)->shape;
    shape.dims[shape.rank - 1] = columns;
    ms_tensor out = ms_empty(tape, shape, (ms_dtype)ms_info(tape, x)->dtype);
    ms_workspace_use(tape,
                     is_own(op) && shape.rank != 2 ? MS_PRODUCT_PLAIN : kind_of(tape, x, bias));
    if (!ms_idle(tape)) {
        const ms_tensor_info *info = ms_info(tape, x);
        const ms_gemm gemm = ms_rows_times(&info->shape, columns.value);
        ms_op_product(tape, mark, gemm);
        ms_cpu_gemm_scratch(tape, (ms_dtype)info->dtype, gemm);
    }
    ms_op_work(tape, mark, product_flops(tape, x, columns), 0, (ms_dtype)ms_info(tape, x)->dtype);
    if (is_own(op)) { /* it saves both, when the product is there */
        ms_save(tape, node, weight);
        ms_save(tape, node, x);
    }
    return ms_op_finish(tape, mark, node, 3, (ms_tensor[]){x, weight, bias}, out);
}

/* Whether what is no matrix can be seen as its rows: a part of a larger tensor may not. Its product
 * then takes a copy of the rows where the weight wants a gradient, else one product for each
 * sequence; a bias is added to it. */
static bool has_rows(ms_tape *tape, ms_tensor x)
{
    if (ms_idle(tape) || !x)
        return true;
    const ms_tensor_info *info = ms_info(tape, x);
    ms_shape flat =
        MS_SHAPE((ms_dim){.value = rows_of(&info->shape)}, info->shape.dims[info->shape.rank - 1]);
    uint64_t strides[MS_MAX_RANK];
    return info->shape.rank < 3 || ms_view_strides(info, &flat, strides);
}

/* Of three dimensions, not in their order: a bias is added to the product. */
static bool is_turned(ms_tape *tape, ms_tensor x)
{
    return !ms_idle(tape) && x && ms_info(tape, x)->shape.rank == 3 &&
           !ms_is_contiguous(ms_info(tape, x));
}

/* Whether the weight wants a gradient, or would outside no_grad(). */
static bool is_trained(ms_tape *tape, ms_tensor weight, ms_tensor cast)
{
    return ms_needs_grad(tape, cast) || (!tape->grad_enabled && weight && !ms_idle(tape) &&
                                         ms_info(tape, weight)->requires_grad);
}

/* The function around a module's input, through which DeepSpeed hears that the module's backward is
 * done: the input's gradient is handed on when the weight's is gone. */
static void module_input_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads,
                                  ms_tensor *out)
{
    (void)tape;
    (void)node;
    out[0] = grads[0];
}

static const ms_op module_input_op = {NULL, "PostBackwardFunctionModuleBackward",
                                      module_input_backward};

ms_tensor ms_heard_input(ms_tape *tape, ms_tensor x)
{
    if (ms_idle(tape) || !x || !tape->has_own_linear)
        return x;
    const ms_tensor_info info = *ms_info(tape, x);
    uint32_t node = ms_record(tape, &module_input_op, 1, &x);
    ms_tensor out = ms_alias(tape, x, info.shape, info.strides);
    ms_attach(tape, node, 1, &out);
    return out;
}

ms_tensor ms_linear(ms_tape *tape, ms_tensor x, ms_tensor weight, ms_tensor bias)
{
    ms_tensor kept = x; /* the caller's reference lasts for the call, also when x is cast */
    ms_dim columns = ms_info(tape, weight)->shape.dims[0];
    ms_retain(tape, kept);
    x = ms_heard_input(tape, x);
    ms_tensor cast_bias = ms_autocast_lower(tape, bias);
    ms_tensor cast_weight = ms_autocast_lower(tape, weight);
    ms_tensor cast_x = ms_autocast_lower(tape, x);
    ms_tensor seen = cast_x; /* what a copy is made of outlives the copy */
    ms_retain(tape, seen);
    ms_retain(tape, cast_weight); /* a copy of it is dropped behind that of x */
    bool is_part = !has_rows(tape, cast_x);
    bool is_whole = tape->has_own_linear; /* one function, which adds a bias in place */
    bool adds_bias = bias && !is_whole && (is_part || is_turned(tape, cast_x));
    const ms_op *with_bias = is_whole ? &own_bias_op : &linear_bias_op;
    if (is_part && is_trained(tape, weight, cast_weight))
        cast_x = ms_clone(tape, cast_x);
    ms_tensor out = product(tape,
                            bias && !adds_bias ? with_bias
                            : is_whole         ? &own_op
                                               : &mm_op,
                            cast_x, cast_weight, adds_bias ? 0 : cast_bias, columns);
    if (adds_bias)
        out = ms_add_(tape, out, cast_bias);
    ms_consume(tape, ms_unown(tape, seen));
    ms_consume(tape, ms_unown(tape, cast_weight));
    ms_consume(tape, ms_unown(tape, kept));
    return out;
}

/* A turned x is copied for its rows. */
ms_tensor ms_matmul_weight(ms_tape *tape, ms_tensor x, ms_tensor weight)
{
    if (ms_idle(tape) || !x || !weight)
        return 0;
    ms_tensor kept = x;
    ms_dim columns = ms_info(tape, weight)->shape.dims[1];
    ms_retain(tape, kept);
    ms_tensor cast_x = ms_autocast_lower(tape, x);
    ms_tensor cast_weight = ms_autocast_lower(tape, weight);
    ms_tensor seen = cast_x;
    ms_retain(tape, seen);
    if (!has_rows(tape, cast_x))
        cast_x = ms_clone(tape, cast_x);
    ms_tensor out = product(tape, &mm_op, cast_x, cast_weight, 0, columns);
    ms_consume(tape, ms_unown(tape, seen));
    ms_consume(tape, ms_unown(tape, kept));
    return out;
}

ms_tensor ms_conv1d(ms_tape *tape, ms_tensor x, ms_tensor weight, ms_tensor bias)
{
    ms_tensor kept = x;
    ms_retain(tape, kept);
    ms_tensor cast_weight = ms_autocast_lower(tape, weight);
    ms_tensor cast_x = ms_autocast_lower_view(tape, x); /* as rows */
    ms_tensor cast_bias = ms_autocast_lower(tape, bias);
    ms_tensor out = product(tape, &addmm_op, cast_x, cast_weight, cast_bias,
                            ms_info(tape, weight)->shape.dims[1]);
    ms_consume(tape, ms_unown(tape, kept));
    return out;
}
