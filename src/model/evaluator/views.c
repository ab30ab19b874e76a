/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Functions and methods of PyTorch that give a tensor another shape, take it apart or join several.
 */
#include "model/evaluator/evaluate.h"
#include "torch/ops/einsum.h"
#include "torch/ops/ops.h"
#include "torch/ops/split.h"

enum { MOST_TENSORS = 64 };

/* ---- sizes ---- */

/* Whether two shapes have the same sizes before and behind a place. */
static bool has_ends(const ms_shape *from, const ms_shape *to, uint32_t place)
{
    bool are_same = true;
    for (uint32_t i = 0; i < place && are_same; i++)
        are_same = from->dims[i].value == to->dims[i].value;
    for (uint32_t i = 1; i < to->rank - place && are_same; i++)
        are_same = from->dims[from->rank - i].value == to->dims[to->rank - i].value;
    return are_same;
}

/* What is left for the size -1: the product of what it takes the place of, or a factor of the last
 * dimension's symbol, if it is one. */
static ms_dim rest_of(ms_frame *f, const ms_shape *from, uint64_t known, const ms_shape *to,
                      uint32_t place)
{
    ms_symbols *s = &f->model->tape->trace->symbols;
    const uint64_t rest = known ? ms_elements(from) / known : 0;
    const uint32_t behind = to->rank - 1 - place;
    if (place + behind < from->rank && has_ends(from, to, place)) {
        ms_dim joined = from->dims[place];
        for (uint32_t i = place + 1; i + behind < from->rank; i++)
            joined = ms_dim_mul(s, joined, from->dims[i]);
        return joined;
    }
    for (uint32_t i = 0; i < from->rank; i++)
        if (from->dims[i].value == rest)
            return from->dims[i];
    for (uint32_t i = 0; i < from->rank && place + 1 < to->rank; i++) {
        const ms_symbol symbol = s->table.items[from->dims[i].symbol];
        if (symbol.kind != MS_SYMBOL_PRODUCT || symbol.right != to->dims[place + 1].symbol)
            continue;
        if (s->table.items[symbol.left].value == rest)
            return (ms_dim){rest, symbol.left};
    }
    return ms_dim_number(s, rest);
}

/* Sizes of a view: a list, or one number; one of them may be -1. */
static bool take_sizes(ms_frame *f, const ms_text_node *at, const ms_shape *from, ms_value value,
                       ms_shape *to)
{
    const uint32_t count = value.kind == MS_VALUE_LIST ? value.items->count : 1;
    uint32_t free_place = MS_MAX_RANK;
    uint64_t known = 1;
    *to = (ms_shape){.rank = count};
    for (uint32_t i = 0; i < count && count <= MS_MAX_RANK; i++) {
        const ms_value size = value.kind == MS_VALUE_LIST ? value.items->values[i] : value;
        if (size.kind != MS_VALUE_NUMBER || size.number < -1 ||
            (size.number < 0 && free_place < MS_MAX_RANK)) {
            ms_frame_fail(f, at, "expected sizes, of which one may be -1");
            return false;
        }
        if (size.number < 0) {
            free_place = i;
            continue;
        }
        to->dims[i] = ms_size_of_value(f, size);
        known *= to->dims[i].value;
    }
    if (count > MS_MAX_RANK) {
        ms_frame_fail(f, at, "a tensor may have at most %d dimensions", MS_MAX_RANK);
        return false;
    }
    if (free_place < MS_MAX_RANK)
        to->dims[free_place] = rest_of(f, from, known, to, free_place);
    return true;
}

static ms_value shaped(ms_frame *f, const ms_text_node *call, const ms_value *a, bool may_copy)
{
    ms_shape to;
    uint64_t strides[MS_MAX_RANK];
    if (!ms_given_tensor(f, call, a[0]) ||
        !take_sizes(f, ms_given(call, 1), ms_given_shape(f, a[0]), a[1], &to))
        return (ms_value){0};
    if (ms_elements(&to) != ms_elements(ms_given_shape(f, a[0]))) {
        (void)ms_check_fail(f, call, a[0].tensor, "expected a tensor of as many elements");
        return (ms_value){0};
    }
    if (!may_copy && !ms_view_strides(ms_info(f->model->tape, a[0].tensor), &to, strides)) {
        (void)ms_check_fail(f, call, a[0].tensor,
                            "expected a tensor that can be viewed like this without a copy");
        return (ms_value){0};
    }
    return ms_value_of_tensor(ms_reshape(f->model->tape, a[0].tensor, to));
}

MS_OPERATION(apply_view)
{
    return shaped(f, call, a, false);
}

MS_OPERATION(apply_reshape)
{
    return shaped(f, call, a, true);
}

MS_OPERATION(apply_flatten)
{
    uint32_t first = 0, last;
    if (!ms_given_tensor(f, call, a[0]))
        return (ms_value){0};
    ms_symbols *s = &f->model->tape->trace->symbols;
    const ms_shape from = *ms_given_shape(f, a[0]);
    last = from.rank - 1;
    if ((a[1].kind && !ms_given_dim(f, call, a[1], from.rank, &first)) ||
        (a[2].kind && !ms_given_dim(f, call, a[2], from.rank, &last)))
        return (ms_value){0};
    ms_shape to = {0};
    for (uint32_t i = 0; i < from.rank; i++) {
        if (i > first && i <= last)
            to.dims[to.rank - 1] = ms_dim_mul(s, to.dims[to.rank - 1], from.dims[i]);
        else
            to.dims[to.rank++] = from.dims[i];
    }
    return ms_value_of_tensor(ms_reshape(f->model->tape, a[0].tensor, to));
}

MS_OPERATION(apply_expand)
{
    ms_shape to;
    if (!ms_given_tensor(f, call, a[0]))
        return (ms_value){0};
    const ms_shape from = *ms_given_shape(f, a[0]);
    const uint32_t count = a[1].kind == MS_VALUE_LIST ? a[1].items->count : 1;
    if (count < from.rank || count > MS_MAX_RANK)
        return ms_frame_failed(f, ms_given(call, 1), "expected a size for each dimension");
    to = (ms_shape){.rank = count};
    for (uint32_t i = 0; i < count; i++) {
        const ms_value size = a[1].kind == MS_VALUE_LIST ? a[1].items->values[i] : a[1];
        const bool has_old = i + from.rank >= count;
        const ms_dim old = has_old ? from.dims[i + from.rank - count] : (ms_dim){.value = 1};
        if (size.kind != MS_VALUE_NUMBER || (size.number < 0 && !has_old))
            return ms_frame_failed(f, ms_given(call, 1), "expected sizes");
        to.dims[i] = size.number < 0 ? old : ms_size_of_value(f, size);
        if (old.value != 1 && old.value != to.dims[i].value)
            return ms_frame_failed(f, ms_given(call, 1), "only dimensions of 1 can be expanded");
    }
    return ms_value_of_tensor(ms_expand(f->model->tape, a[0].tensor, to));
}

MS_OPERATION(apply_transpose)
{
    uint32_t first, second;
    if (!ms_given_tensor(f, call, a[0]))
        return (ms_value){0};
    const uint32_t rank = ms_given_shape(f, a[0])->rank;
    if (!ms_given_dim(f, ms_given(call, 1), a[1], rank, &first) ||
        !ms_given_dim(f, ms_given(call, 2), a[2], rank, &second))
        return (ms_value){0};
    return ms_value_of_tensor(ms_transpose(f->model->tape, a[0].tensor, first, second));
}

MS_OPERATION(apply_permute)
{
    uint32_t order[MS_MAX_RANK], seen = 0;
    if (!ms_given_tensor(f, call, a[0]))
        return (ms_value){0};
    const uint32_t rank = ms_given_shape(f, a[0])->rank;
    if (a[1].kind != MS_VALUE_LIST || a[1].items->count != rank)
        return ms_frame_failed(f, call, "expected a place for each dimension");
    for (uint32_t i = 0; i < rank; i++) {
        if (!ms_given_dim(f, call, a[1].items->values[i], rank, &order[i]))
            return (ms_value){0};
        seen |= UINT32_C(1) << order[i];
    }
    if (seen + 1 != UINT32_C(1) << rank)
        return ms_frame_failed(f, call, "expected each dimension once");
    return ms_value_of_tensor(ms_permute(f->model->tape, a[0].tensor, order));
}

MS_OPERATION(apply_unsqueeze)
{
    uint32_t dim;
    if (!ms_given_tensor(f, call, a[0]) ||
        !ms_given_dim(f, call, a[1], ms_given_shape(f, a[0])->rank + 1, &dim))
        return (ms_value){0};
    if (ms_given_shape(f, a[0])->rank == MS_MAX_RANK)
        return ms_frame_failed(f, call, "the tensor has as many dimensions as it can have");
    return ms_value_of_tensor(ms_unsqueeze(f->model->tape, a[0].tensor, dim));
}

MS_OPERATION(apply_squeeze)
{
    uint32_t dim;
    if (!ms_given_tensor(f, call, a[0]) ||
        !ms_given_dim(f, call, a[1], ms_given_shape(f, a[0])->rank, &dim))
        return (ms_value){0};
    return ms_value_of_tensor(ms_squeeze(f->model->tape, a[0].tensor, dim));
}

MS_OPERATION(apply_size)
{
    uint32_t dim;
    if (!ms_given_tensor(f, call, a[0]))
        return (ms_value){0};
    const ms_shape shape = *ms_given_shape(f, a[0]);
    ms_value out = {0};
    if (a[1].kind == MS_VALUE_NONE)
        out = ms_shape_value(f, &shape);
    else if (ms_given_dim(f, ms_given(call, 1), a[1], shape.rank, &dim))
        out = ms_value_of_dim(shape.dims[dim]);
    ms_consume(f->model->tape, a[0].tensor);
    return out;
}

/* ---- complex numbers ---- */

MS_OPERATION(apply_view_as_complex)
{
    if (!ms_given_tensor(f, call, a[0]))
        return (ms_value){0};
    const ms_tensor_info *x = ms_info(f->model->tape, a[0].tensor);
    const uint32_t last = x->shape.rank - 1;
    const bool fits = x->dtype == MS_DTYPE_F32 && x->shape.rank > 1 &&
                      x->shape.dims[last].value == 2 && x->strides[last] == 1;
    if (!fits) {
        (void)ms_check_fail(f, call, a[0].tensor, "expected pairs of fp32 side by side");
        return (ms_value){0};
    }
    return ms_value_of_tensor(ms_view_as_complex(f->model->tape, a[0].tensor));
}

MS_OPERATION(apply_view_as_real)
{
    if (!ms_given_tensor(f, call, a[0]))
        return (ms_value){0};
    const ms_tensor_info *x = ms_info(f->model->tape, a[0].tensor);
    if (x->dtype != MS_DTYPE_C64 || x->shape.rank == MS_MAX_RANK)
        return ms_frame_failed(f, call, "expected a tensor of complex numbers");
    return ms_value_of_tensor(ms_view_as_real(f->model->tape, a[0].tensor));
}

/* ---- parts ---- */

/* Parts of the given sizes. */
static ms_value split_into(ms_frame *f, const ms_text_node *call, ms_tensor x, uint32_t dim,
                           const ms_items *sizes)
{
    ms_tensor parts[MOST_TENSORS] = {0};
    ms_dim lengths[MOST_TENSORS];
    uint64_t sum = 0;
    if (sizes->count == 0 || sizes->count > MOST_TENSORS)
        return ms_frame_failed(f, call, "expected sizes of the parts");
    for (uint32_t i = 0; i < sizes->count; i++) {
        if (sizes->values[i].kind != MS_VALUE_NUMBER)
            return ms_frame_failed(f, call, "expected sizes of the parts");
        lengths[i] = ms_size_of_value(f, sizes->values[i]);
        sum += lengths[i].value;
    }
    if (sum != ms_info(f->model->tape, x)->shape.dims[dim].value) {
        (void)ms_check_fail(f, call, x, "expected parts that make up the whole");
        return (ms_value){0};
    }
    ms_split_sizes(f->model->tape, x, dim, sizes->count, lengths, parts);
    return ms_frame_tensors(f, call, sizes->count, parts);
}

/* Equal parts of that size. */
static ms_value split_equal(ms_frame *f, const ms_text_node *call, ms_tensor x, uint32_t dim,
                            ms_dim part)
{
    ms_tensor parts[MOST_TENSORS] = {0};
    const uint64_t whole = ms_info(f->model->tape, x)->shape.dims[dim].value;
    if (part.value == 0 || whole % part.value != 0 || whole / part.value > MOST_TENSORS) {
        (void)ms_check_fail(f, call, x, "expected up to 64 equal parts of the whole");
        return (ms_value){0};
    }
    ms_split(f->model->tape, x, dim, part, (uint32_t)(whole / part.value), parts);
    return ms_frame_tensors(f, call, (uint32_t)(whole / part.value), parts);
}

MS_OPERATION(apply_split)
{
    uint32_t dim = 0;
    if (!ms_given_tensor(f, call, a[0]))
        return (ms_value){0};
    const ms_value at = a[2].kind ? a[2] : ms_value_of_number(-1);
    if (!ms_given_dim(f, call, at, ms_given_shape(f, a[0])->rank, &dim))
        return (ms_value){0};
    if (a[1].kind == MS_VALUE_LIST)
        return split_into(f, call, a[0].tensor, dim, a[1].items);
    if (a[1].kind != MS_VALUE_NUMBER)
        return ms_frame_failed(f, call, "expected the size of a part, or of each");
    return split_equal(f, call, a[0].tensor, dim, ms_size_of_value(f, a[1]));
}

MS_OPERATION(apply_chunk)
{
    uint32_t dim = 0;
    if (!ms_given_tensor(f, call, a[0]))
        return (ms_value){0};
    const ms_value at = a[2].kind ? a[2] : ms_value_of_number(0);
    const uint64_t count = a[1].kind == MS_VALUE_NUMBER ? ms_size_of_value(f, a[1]).value : 0;
    if (!ms_given_dim(f, call, at, ms_given_shape(f, a[0])->rank, &dim))
        return (ms_value){0};
    const ms_dim whole = ms_given_shape(f, a[0])->dims[dim];
    if (count == 0 || whole.value % count != 0)
        return ms_frame_failed(f, call, "expected chunks of equal size");
    ms_symbols *s = &f->model->tape->trace->symbols;
    const ms_dim part = count == 2 ? ms_dim_half(s, whole) : ms_dim_number(s, whole.value / count);
    return split_equal(f, call, a[0].tensor, dim, count == 1 ? whole : part);
}

MS_OPERATION(apply_unbind)
{
    uint32_t dim = 0;
    ms_tensor parts[MOST_TENSORS] = {0};
    if (!ms_given_tensor(f, call, a[0]))
        return (ms_value){0};
    if (a[1].kind && !ms_given_dim(f, call, a[1], ms_given_shape(f, a[0])->rank, &dim))
        return (ms_value){0};
    const uint64_t count = ms_given_shape(f, a[0])->dims[dim].value;
    if (count == 0 || count > MOST_TENSORS)
        return ms_frame_failed(f, call, "expected up to 64 parts");
    ms_unbind(f->model->tape, a[0].tensor, dim, (uint32_t)count, parts);
    return ms_frame_tensors(f, call, (uint32_t)count, parts);
}

/* ---- joins ---- */

/* Tensors of a list, alike in all but dimension `dim`; MS_MAX_RANK: in all. */
static bool take_tensors(ms_frame *f, const ms_text_node *call, ms_value list, uint32_t most,
                         ms_tensor *tensors)
{
    const uint32_t count = list.kind == MS_VALUE_LIST ? list.items->count : 0;
    bool has_tensors = count > 0 && count <= most;
    for (uint32_t i = 0; i < count && has_tensors; i++) {
        has_tensors = list.items->values[i].kind == MS_VALUE_TENSOR;
        tensors[i] = list.items->values[i].tensor;
    }
    if (!has_tensors)
        ms_frame_fail(f, ms_given(call, 0), "expected a list of up to %d tensors", MOST_TENSORS);
    return has_tensors;
}

/* Of two tensors that are joined the types may differ. */
static bool are_alike(ms_frame *f, const ms_text_node *call, uint32_t count,
                      const ms_tensor *tensors, uint32_t but)
{
    const bool widens = count == 2 && but < MS_MAX_RANK;
    const ms_tensor_info first = *ms_info(f->model->tape, tensors[0]);
    for (uint32_t i = 1; i < count; i++) {
        const ms_tensor_info *info = ms_info(f->model->tape, tensors[i]);
        const ms_dtype both = ms_promote((ms_dtype)first.dtype, (ms_dtype)info->dtype);
        bool is_alike =
            info->shape.rank == first.shape.rank && (widens || both == (ms_dtype)first.dtype);
        for (uint32_t d = 0; d < first.shape.rank && is_alike; d++)
            is_alike = d == but || info->shape.dims[d].value == first.shape.dims[d].value;
        if (!is_alike)
            return ms_check_fail(f, call, tensors[i], "expected tensors of one shape and type");
    }
    return true;
}

MS_OPERATION(apply_cat)
{
    const uint32_t count = a[0].kind == MS_VALUE_LIST ? a[0].items->count : 0;
    ms_tensor few[MOST_TENSORS] = {0}, *tensors = few;
    uint32_t dim = 0;
    if (count > MOST_TENSORS)
        tensors = ms_arena_array(f->model->arena, ms_tensor, count);
    if (!tensors) {
        ms_tape_fail(f->model->tape, MS_ERR_NOMEM);
        return (ms_value){0};
    }
    if (!take_tensors(f, call, a[0], count > MOST_TENSORS ? count : MOST_TENSORS, tensors))
        return (ms_value){0};
    const uint32_t rank = ms_info(f->model->tape, tensors[0])->shape.rank;
    if ((a[1].kind && !ms_given_dim(f, call, a[1], rank, &dim)) ||
        !are_alike(f, call, count, tensors, dim))
        return (ms_value){0};
    if (count == 2)
        return ms_value_of_tensor(ms_cat2(f->model->tape, tensors[0], tensors[1], dim));
    if (count == 3)
        return ms_value_of_tensor(ms_cat3(f->model->tape, tensors, dim));
    return ms_value_of_tensor(ms_cat_list(f->model->tape, count, tensors, dim));
}

MS_OPERATION(apply_stack)
{
    ms_tensor tensors[MOST_TENSORS] = {0};
    uint32_t dim = 0;
    if (!take_tensors(f, call, a[0], MOST_TENSORS, tensors))
        return (ms_value){0};
    const uint32_t rank = ms_info(f->model->tape, tensors[0])->shape.rank;
    if (rank == MS_MAX_RANK || (a[1].kind && !ms_given_dim(f, call, a[1], rank + 1, &dim)) ||
        !are_alike(f, call, a[0].items->count, tensors, MS_MAX_RANK))
        return (ms_value){0};
    if (a[0].items->count == 2 && dim == rank)
        return ms_value_of_tensor(ms_stack_last(f->model->tape, tensors[0], tensors[1]));
    return ms_value_of_tensor(ms_stack_list(f->model->tape, tensors, a[0].items->count, dim));
}

MS_OPERATION(apply_repeat_interleave)
{
    uint32_t dim = 0;
    if (!ms_given_tensor(f, call, a[0]))
        return (ms_value){0};
    if (a[1].kind != MS_VALUE_NUMBER || !a[2].kind)
        return ms_frame_failed(f, call, "expected a number of times and a dimension");
    if (!ms_given_dim(f, call, a[2], ms_given_shape(f, a[0])->rank, &dim))
        return (ms_value){0};
    return ms_value_of_tensor(
        ms_repeat_each(f->model->tape, a[0].tensor, dim, ms_size_of_value(f, a[1])));
}

static const ms_primitive rows[] = {
    MS_OPERATION_ROW("view", "x *sizes", "vv", apply_view),
    MS_OPERATION_ROW("reshape", "x *sizes", "vv", apply_reshape),
    MS_OPERATION_ROW("flatten", "x start_dim end_dim", "v|vv", apply_flatten),
    MS_OPERATION_ROW("expand", "x *sizes", "vv", apply_expand),
    MS_OPERATION_ROW("broadcast_to", "x size", "vv", apply_expand),
    MS_OPERATION_ROW("transpose", "x dim0 dim1", "vvv", apply_transpose),
    MS_OPERATION_ROW("permute", "x *dims", "vv", apply_permute),
    MS_OPERATION_ROW("unsqueeze", "x dim", "vv", apply_unsqueeze),
    MS_OPERATION_ROW("squeeze", "x dim", "vv", apply_squeeze),
    MS_OPERATION_ROW("size", "x dim", "v|v", apply_size),
    MS_OPERATION_ROW("view_as_complex", "x", "v", apply_view_as_complex),
    MS_OPERATION_ROW("view_as_real", "x", "v", apply_view_as_real),
    MS_OPERATION_ROW("split", "x size dim", "vv|v", apply_split),
    MS_OPERATION_ROW("chunk", "x chunks dim", "vv|v", apply_chunk),
    MS_OPERATION_ROW("unbind", "x dim", "v|v", apply_unbind),
    MS_OPERATION_ROW("cat", "tensors dim", "v|v", apply_cat),
    MS_OPERATION_ROW("stack", "tensors dim", "v|v", apply_stack),
    MS_OPERATION_ROW("repeat_interleave", "x repeats dim", "vv|v", apply_repeat_interleave),
};

const ms_primitive_list ms_view_rows = {rows, sizeof rows / sizeof *rows};
