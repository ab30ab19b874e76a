/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Functions and methods that PyTorch has, by its names: x.view(...), torch.cat([...], dim=-1).
 */
#include <string.h>

#include "model/evaluator/evaluate.h"
#include "torch/ops/attention/attention.h"
#include "torch/ops/einsum.h"
#include "torch/ops/moe/routing.h"
#include "torch/ops/moe/rows.h"
#include "torch/ops/ops.h"

/* ---- types ---- */

static ms_value as_type(ms_frame *f, const ms_text_node *call, ms_value x, ms_value type)
{
    if (!ms_given_tensor(f, call, x))
        return (ms_value){0};
    if (type.kind == MS_VALUE_TENSOR) {
        const ms_dtype dtype = (ms_dtype)ms_info(f->model->tape, type.tensor)->dtype;
        return ms_value_of_tensor(ms_to(f->model->tape, x.tensor, dtype));
    }
    if (type.kind != MS_VALUE_TYPE)
        return type.kind == MS_VALUE_NONE ? x : ms_frame_failed(f, call, "expected a type");
    return ms_value_of_tensor(ms_to(f->model->tape, x.tensor, (ms_dtype)type.number));
}

MS_OPERATION(apply_to)
{
    return as_type(f, call, a[0], a[1].kind ? a[1] : a[2]);
}

MS_OPERATION(apply_float)
{
    return as_type(f, call, a[0], ms_value_of_type(MS_DTYPE_F32));
}

MS_OPERATION(apply_long)
{
    return as_type(f, call, a[0], ms_value_of_type(MS_DTYPE_I64));
}

/* Whether each element is 0, or is not. */
MS_OPERATION(apply_logical_not)
{
    ms_tape *tape = f->model->tape;
    if (!ms_given_tensor(f, call, a[0]))
        return (ms_value){0};
    const ms_tensor out = ms_empty_like(tape, a[0].tensor, MS_DTYPE_BOOL);
    ms_consume(tape, a[0].tensor);
    return ms_value_of_tensor(out);
}

MS_OPERATION(apply_logical_and)
{
    ms_tape *tape = f->model->tape;
    if (a[0].kind != MS_VALUE_TENSOR || a[1].kind != MS_VALUE_TENSOR)
        return ms_frame_failed(f, call, "expected two tensors");
    if (!ms_check_broadcast(f, call, a[0].tensor, a[1].tensor))
        return (ms_value){0};
    const ms_tensor both[] = {a[0].tensor, a[1].tensor};
    const ms_tensor out = ms_elementwise_out(tape, 2, both, MS_DTYPE_BOOL);
    ms_consume(tape, a[0].tensor);
    ms_consume(tape, a[1].tensor);
    return ms_value_of_tensor(out);
}

/* Of two masks. */
MS_OPERATION(apply_logical_or)
{
    for (int i = 0; i < 2; i++)
        if (a[i].kind != MS_VALUE_TENSOR ||
            ms_info(f->model->tape, a[i].tensor)->dtype != MS_DTYPE_BOOL)
            return ms_frame_failed(f, call, "expected two masks");
    if (!ms_check_broadcast(f, call, a[0].tensor, a[1].tensor))
        return (ms_value){0};
    return ms_value_of_tensor(ms_compare(f->model->tape, a[0].tensor, a[1].tensor));
}

MS_OPERATION(apply_bool)
{
    if (a[0].kind == MS_VALUE_TENSOR &&
        ms_info(f->model->tape, a[0].tensor)->dtype == MS_DTYPE_BOOL)
        return a[0];
    return apply_logical_not(f, call, a);
}

/* Functions of each element. */
#define OF_ELEMENTS(name, value)                                                                   \
    MS_OPERATION(name)                                                                             \
    {                                                                                              \
        if (!ms_given_tensor(f, call, a[0]))                                                       \
            return (ms_value){0};                                                                  \
        if (ms_needs_grad(f->model->tape, a[0].tensor))                                            \
            return ms_frame_failed(f, call, "expected a tensor without gradients");                \
        return ms_value_of_tensor(value(f->model->tape, a[0].tensor));                             \
    }
OF_ELEMENTS(apply_sin, ms_sin)
OF_ELEMENTS(apply_cos, ms_cos)
OF_ELEMENTS(apply_erfinv, ms_erfinv)
OF_ELEMENTS(apply_log, ms_log)

/* Of the same shape and type, without an operator of its own here. */
MS_OPERATION(apply_abs)
{
    ms_tape *tape = f->model->tape;
    if (!ms_given_tensor(f, call, a[0]))
        return (ms_value){0};
    if (ms_needs_grad(tape, a[0].tensor))
        return ms_frame_failed(f, call, "expected a tensor without gradients");
    const ms_tensor out =
        ms_elementwise_out(tape, 1, &a[0].tensor, (ms_dtype)ms_info(tape, a[0].tensor)->dtype);
    ms_consume(tape, a[0].tensor);
    return ms_value_of_tensor(out);
}

/* torch.where(condition, x, other): one of both is a number, or no tensor needs gradients. */
MS_OPERATION(apply_where)
{
    ms_tape *tape = f->model->tape;
    const bool is_number = a[2].kind == MS_VALUE_NUMBER;
    const bool is_mask =
        a[0].kind == MS_VALUE_TENSOR && ms_info(tape, a[0].tensor)->dtype == MS_DTYPE_BOOL;
    if (is_mask && a[1].kind == MS_VALUE_NUMBER && a[2].kind == MS_VALUE_TENSOR)
        return apply_where(f, call, (ms_value[]){a[0], a[2], a[1]});
    if (a[0].kind != MS_VALUE_TENSOR || a[1].kind != MS_VALUE_TENSOR ||
        (!is_number && a[2].kind != MS_VALUE_TENSOR))
        return ms_frame_failed(f, call,
                               "expected a condition and two tensors, or one and a number");
    if (!ms_check_broadcast(f, call, a[0].tensor, a[1].tensor))
        return (ms_value){0};
    if (is_number)
        return ms_value_of_tensor(ms_where_number(tape, a[0].tensor, a[1].tensor));
    if (!ms_check_broadcast(f, call, a[1].tensor, a[2].tensor))
        return (ms_value){0};
    if (ms_needs_grad(tape, a[1].tensor) || ms_needs_grad(tape, a[2].tensor))
        return ms_frame_failed(f, call, "expected tensors without gradients");
    const ms_tensor all[] = {a[0].tensor, a[1].tensor, a[2].tensor};
    const ms_dtype dtype =
        ms_promote((ms_dtype)ms_info(tape, all[1])->dtype, (ms_dtype)ms_info(tape, all[2])->dtype);
    const ms_tensor out = ms_elementwise_out(tape, 3, all, dtype);
    for (int i = 0; i < 3; i++)
        ms_consume(tape, all[i]);
    return ms_value_of_tensor(out);
}
OF_ELEMENTS(apply_log1p, ms_log1p)

/* ---- numbers of a tensor ---- */

MS_OPERATION(apply_softmax)
{
    ms_tape *tape = f->model->tape;
    if (!ms_given_tensor(f, call, a[0]) || !ms_given_last(f, call, a[0], a[1]))
        return (ms_value){0};
    if (a[2].kind == MS_VALUE_TYPE)
        return ms_value_of_tensor(ms_softmax_in(tape, a[0].tensor, (ms_dtype)a[2].number));
    return ms_value_of_tensor(
        ms_softmax_last(tape, a[0].tensor, (ms_dtype)ms_info(tape, a[0].tensor)->dtype));
}

MS_OPERATION(apply_sum)
{
    uint32_t dim;
    if (!ms_given_tensor(f, call, a[0]))
        return (ms_value){0};
    if (a[1].kind == MS_VALUE_NONE && ms_info(f->model->tape, a[0].tensor)->dtype == MS_DTYPE_BOOL)
        return ms_value_of_tensor(ms_count_mask(f->model->tape, a[0].tensor));
    if (a[1].kind == MS_VALUE_NONE)
        return ms_value_of_tensor(ms_sum(f->model->tape, a[0].tensor));
    if (!ms_given_dim(f, call, a[1], ms_given_shape(f, a[0])->rank, &dim))
        return (ms_value){0};
    return ms_value_of_tensor(ms_sum_dim(f->model->tape, a[0].tensor, dim, ms_given_true(a[2])));
}

/* Of the last dimension with keepdim=True, or of the first without. */
MS_OPERATION(apply_mean)
{
    const bool is_first = a[1].kind == MS_VALUE_NUMBER && a[1].number >= 0 && a[1].number < 1;
    if (!ms_given_tensor(f, call, a[0]))
        return (ms_value){0};
    if (is_first && ms_given_shape(f, a[0])->rank > 1 && !ms_given_true(a[2]))
        return ms_value_of_tensor(ms_mean_first(f->model->tape, a[0].tensor));
    if (!ms_given_last(f, call, a[0], a[1]))
        return (ms_value){0};
    if (!ms_given_true(a[2]))
        return ms_frame_failed(f, call, "expected keepdim=True");
    return ms_value_of_tensor(ms_mean_last(f->model->tape, a[0].tensor));
}

MS_OPERATION(apply_std)
{
    if (!ms_given_tensor(f, call, a[0]) || !ms_given_last(f, call, a[0], a[1]))
        return (ms_value){0};
    if (!ms_given_true(a[2]) || a[3].kind != MS_VALUE_NUMBER || ms_given_true(a[3]))
        return ms_frame_failed(f, call, "expected keepdim=True and unbiased=False");
    return ms_value_of_tensor(ms_std_last(f->model->tape, a[0].tensor));
}

MS_OPERATION(apply_sqrt)
{
    return ms_given_tensor(f, call, a[0]) ? ms_value_of_tensor(ms_sqrt(f->model->tape, a[0].tensor))
                                          : (ms_value){0};
}

MS_OPERATION(apply_cumsum)
{
    if (!ms_given_tensor(f, call, a[0]) || !ms_given_last(f, call, a[0], a[1]))
        return (ms_value){0};
    return ms_value_of_tensor(ms_cumsum_last(f->model->tape, a[0].tensor));
}

MS_OPERATION(apply_topk)
{
    ms_tensor out[2];
    const ms_value last = a[2].kind ? a[2] : ms_value_of_number(-1);
    if (!ms_given_tensor(f, call, a[0]) || !ms_given_last(f, call, a[0], last))
        return (ms_value){0};
    const ms_shape *shape = ms_given_shape(f, a[0]);
    const ms_dim k = ms_size_of_value(f, a[1]);
    if (a[1].kind != MS_VALUE_NUMBER || k.value == 0 ||
        k.value > shape->dims[shape->rank - 1].value)
        return ms_frame_failed(f, ms_given(call, 1), "expected as many as there are, or fewer");
    ms_topk(f->model->tape, a[0].tensor, k, out);
    return ms_frame_tensors(f, call, 2, out);
}

/* By tensors of one element. */
static ms_value clamp_between(ms_frame *f, const ms_text_node *call, const ms_value *a)
{
    ms_tape *tape = f->model->tape;
    for (int i = 1; i < 3; i++)
        if (ms_elements(ms_given_shape(f, a[i])) != 1 || ms_needs_grad(tape, a[i].tensor))
            return ms_frame_failed(f, call,
                                   "expected two tensors of one element, without gradients");
    return ms_value_of_tensor(ms_clamp_between(tape, a[0].tensor, a[1].tensor, a[2].tensor));
}

MS_OPERATION(apply_clamp)
{
    uint32_t bounds = 0;
    for (int i = 1; i < 3; i++)
        bounds += a[i].kind == MS_VALUE_NUMBER;
    if (!ms_given_tensor(f, call, a[0]))
        return (ms_value){0};
    if (a[1].kind == MS_VALUE_TENSOR && a[2].kind == MS_VALUE_TENSOR)
        return clamp_between(f, call, a);
    if (bounds == 0)
        return ms_frame_failed(f, call, "expected a bound");
    return ms_value_of_tensor(ms_clamp(f->model->tape, a[0].tensor, bounds));
}

/* A power of tensors, which need no gradients. */
static ms_value power(ms_frame *f, const ms_text_node *call, ms_tensor base, ms_tensor exponent)
{
    ms_tape *tape = f->model->tape;
    const ms_tensor both[] = {base, exponent};
    if (!ms_check_broadcast(f, call, base, exponent))
        return (ms_value){0};
    if (ms_needs_grad(tape, base) || ms_needs_grad(tape, exponent))
        return ms_frame_failed(f, call, "expected tensors without gradients");
    const ms_dtype dtype =
        ms_promote((ms_dtype)ms_info(tape, base)->dtype, (ms_dtype)ms_info(tape, exponent)->dtype);
    const ms_tensor out = ms_elementwise_out(tape, 2, both, dtype);
    ms_consume(tape, base);
    ms_consume(tape, exponent);
    return ms_value_of_tensor(out);
}

MS_OPERATION(apply_pow)
{
    if (!ms_given_tensor(f, call, a[0]))
        return (ms_value){0};
    if (a[1].kind == MS_VALUE_TENSOR)
        return power(f, call, a[0].tensor, a[1].tensor);
    if (a[1].kind != MS_VALUE_NUMBER)
        return ms_frame_failed(f, call, "expected a number");
    return ms_value_of_tensor(ms_pow(f->model->tape, a[0].tensor));
}

/* Whether b has the products that a has, [N, M, K] and [N, K, L]. */
static bool are_batches(ms_frame *f, const ms_text_node *call, ms_value a, ms_value b)
{
    const bool are_there = a.kind == MS_VALUE_TENSOR && b.kind == MS_VALUE_TENSOR;
    const ms_shape *x = are_there ? ms_given_shape(f, a) : NULL,
                   *y = are_there ? ms_given_shape(f, b) : NULL;
    if (are_there && x->rank == 3 && y->rank == 3 && x->dims[0].value == y->dims[0].value &&
        x->dims[2].value == y->dims[1].value)
        return true;
    return ms_check_fail(f, call, b.tensor, "expected [N, K, L] behind [N, M, K]");
}

MS_OPERATION(apply_bmm)
{
    if (!are_batches(f, call, a[0], a[1]))
        return (ms_value){0};
    return ms_value_of_tensor(ms_bmm(f->model->tape, a[0].tensor, a[1].tensor));
}

MS_OPERATION(apply_baddbmm)
{
    if (!ms_given_tensor(f, call, a[0]) || !are_batches(f, call, a[1], a[2]))
        return (ms_value){0};
    if (ms_needs_grad(f->model->tape, a[0].tensor))
        return ms_frame_failed(f, call, "expected a tensor without gradients");
    return ms_value_of_tensor(ms_baddbmm(f->model->tape, a[0].tensor, a[1].tensor, a[2].tensor));
}

MS_OPERATION(apply_matmul)
{
    if (a[0].kind != MS_VALUE_TENSOR || a[1].kind != MS_VALUE_TENSOR)
        return ms_frame_failed(f, call, "expected two tensors");
    const ms_shape *x = ms_given_shape(f, a[0]), *w = ms_given_shape(f, a[1]);
    if (w->rank == 2 && x->rank > 2 && x->dims[x->rank - 1].value == w->dims[0].value)
        return ms_value_of_tensor(ms_matmul_weight(f->model->tape, a[0].tensor, a[1].tensor));
    if (!ms_check_product(f, call, a[0].tensor, a[1].tensor))
        return (ms_value){0};
    return ms_value_of_tensor(ms_matmul(f->model->tape, a[0].tensor, a[1].tensor));
}

/* F.layer_norm(x, normalized_shape, weight, bias): weight and bias may be None. */
MS_OPERATION(apply_layer_norm)
{
    if (!ms_given_tensor(f, call, a[0]))
        return (ms_value){0};
    return ms_value_of_tensor(ms_layer_norm(f->model->tape, a[0].tensor, a[2].tensor, a[3].tensor));
}

MS_OPERATION(apply_linear)
{
    ms_tape *tape = f->model->tape;
    if (a[0].kind != MS_VALUE_TENSOR || a[1].kind != MS_VALUE_TENSOR)
        return ms_frame_failed(f, call, "expected two tensors");
    const ms_shape *x = ms_given_shape(f, a[0]), *w = ms_given_shape(f, a[1]);
    if (w->rank != 2 || x->rank == 0 || x->dims[x->rank - 1].value != w->dims[1].value) {
        (void)ms_check_fail(f, call, a[0].tensor, "expected as many elements as the weight reads");
        return (ms_value){0};
    }
    for (int i = 1; i < 3; i++) /* the caller's until the call returns: they go behind x */
        ms_retain(tape, a[i].tensor);
    const ms_tensor out = ms_linear(tape, a[0].tensor, a[1].tensor, a[2].tensor);
    for (int i = 1; i < 3; i++)
        ms_release(tape, a[i].tensor);
    return ms_value_of_tensor(out);
}

/* F.embedding(ids, weight) */
MS_OPERATION(apply_embedding)
{
    if (a[0].kind != MS_VALUE_TENSOR || a[1].kind != MS_VALUE_TENSOR ||
        ms_info(f->model->tape, a[0].tensor)->dtype != MS_DTYPE_I64 ||
        ms_given_shape(f, a[1])->rank != 2)
        return ms_frame_failed(f, call, "expected ids and a table of two dimensions");
    return ms_value_of_tensor(ms_embedding(f->model->tape, a[1].tensor, a[0].tensor));
}

MS_OPERATION(apply_one_hot)
{
    if (!ms_given_tensor(f, call, a[0]))
        return (ms_value){0};
    if (a[1].kind != MS_VALUE_NUMBER || !(a[1].number >= 1) ||
        ms_info(f->model->tape, a[0].tensor)->dtype != MS_DTYPE_I64 ||
        ms_given_shape(f, a[0])->rank == MS_MAX_RANK)
        return ms_frame_failed(f, call, "expected numbers, and how many there may be");
    return ms_value_of_tensor(ms_one_hot(f->model->tape, a[0].tensor, ms_size_of_value(f, a[1])));
}

static const ms_primitive rows[] = {
    MS_OPERATION_ROW("embedding", "ids weight", "vv", apply_embedding),
    MS_OPERATION_ROW("one_hot", "x num_classes", "vv", apply_one_hot),
    MS_OPERATION_ROW("to", "x dtype device", "v|vv", apply_to),
    MS_OPERATION_ROW("type_as", "x dtype", "vv", apply_to),
    MS_OPERATION_ROW("float", "x", "v", apply_float),
    MS_OPERATION_ROW("long", "x", "v", apply_long),
    MS_OPERATION_ROW("bool", "x", "v", apply_bool),
    MS_OPERATION_ROW("logical_not", "x", "v", apply_logical_not),
    MS_OPERATION_ROW("logical_or", "x other", "vv", apply_logical_or),
    MS_OPERATION_ROW("logical_and", "x other", "vv", apply_logical_and),
    MS_OPERATION_ROW("sin", "x", "v", apply_sin),
    MS_OPERATION_ROW("cos", "x", "v", apply_cos),
    MS_OPERATION_ROW("erfinv", "x", "v", apply_erfinv),
    MS_OPERATION_ROW("sqrt", "x", "v", apply_sqrt),
    MS_OPERATION_ROW("log", "x", "v", apply_log),
    MS_OPERATION_ROW("abs", "x", "v", apply_abs),
    MS_OPERATION_ROW("where", "condition x other", "vvv", apply_where),
    MS_OPERATION_ROW("log1p", "x", "v", apply_log1p),
    MS_OPERATION_ROW("softmax", "x dim dtype", "vv|v", apply_softmax),
    MS_OPERATION_ROW("sum", "x dim keepdim", "v|vv", apply_sum),
    MS_OPERATION_ROW("mean", "x dim keepdim", "vv|v", apply_mean),
    MS_OPERATION_ROW("std", "x dim keepdim unbiased", "vvvv", apply_std),
    MS_OPERATION_ROW("cumsum", "x dim", "vv", apply_cumsum),
    MS_OPERATION_ROW("topk", "x k dim sorted", "vv|vv", apply_topk),
    MS_OPERATION_ROW("clamp", "x min max", "v|vv", apply_clamp),
    MS_OPERATION_ROW("pow", "x exponent", "vv", apply_pow),
    MS_OPERATION_ROW("matmul", "x other", "vv", apply_matmul),
    MS_OPERATION_ROW("bmm", "x mat2", "vv", apply_bmm),
    MS_OPERATION_ROW("baddbmm", "x batch1 batch2 beta alpha", "vvv|vv", apply_baddbmm),
    MS_OPERATION_ROW("layer_norm", "x normalized_shape weight bias eps", "vv|vvv",
                     apply_layer_norm),
    MS_OPERATION_ROW("linear", "x weight bias", "vv|v", apply_linear),
};

const ms_primitive_list ms_operation_rows = {rows, sizeof rows / sizeof *rows};
